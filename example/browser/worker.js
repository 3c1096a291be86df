// Runs the program off the page's thread.
self.Module = {
  print: (line) => postMessage(line),
  printErr: (line) => postMessage(line),
};
importScripts('ruy_like_browser.js');

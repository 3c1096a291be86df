// Runs the program off the page's thread, which may not wait.
const program = self.name;
self.Module = {
  print: (line) => postMessage(line),
  printErr: (line) => postMessage(line),
  mainScriptUrlOrBlob: program,
};
importScripts(program);

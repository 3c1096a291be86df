#!/usr/bin/env bash
# test/bochs.sh <folder> <list> [<root>]
#
# Runs Linux programs in Bochs, which emulates a whole PC with a processor that has
# AVX-512 and AVX-512-VNNI ("Tiger Lake"), on any machine. With <root>, a folder with
# Bochs 3.0 and its libraries (third_party/install.sh avxvnni), the processor also has
# AVX-VNNI ("Sapphire Rapids"). One boot runs all commands
# of the list, a file with one on a line: a name, a tab, and a command for the shell,
# whose program is an absolute path. <folder> is for the files that the boot needs,
# and has the kernel, `vmlinuz` (third_party/install.sh avx512).
#
# The emulated machine has one processor and 1 GB of memory. In it are the programs
# of the list with their shared libraries, the files that the variable BOCHS_FILES
# names, all under their paths here, and BusyBox. What the programs print appears as
# it comes, and after each its seconds and "passed" or "failed <exit code>". The exit
# code is 0 when all exited with 0, else 1. BOCHS_SECONDS limits the whole run.
set -euo pipefail

[ $# = 2 ] || [ $# = 3 ] || { echo "usage: $0 <folder> <list> [<root>]" >&2; exit 2; }
folder=$1 list=$2

bochs=bochs-bin share=/usr/share model=tigerlake kernel_options=
if [ $# = 3 ]; then
  # Its own C library's loader, since this system's is older.
  libraries=$3/usr/lib/x86_64-linux-gnu
  bochs="$libraries/ld-linux-x86-64.so.2 --library-path $libraries $3/usr/bin/bochs-bin"
  export LTDL_LIBRARY_PATH=$libraries/bochs/plugins
  share=$3/usr/share model=sapphire_rapids
  # Linux does not boot with these parts of the emulation.
  kernel_options="acpi=off ibt=off"
fi

root=$folder/root iso=$folder/iso
rm -rf "$root" "$iso"
mkdir -p "$root"/{bin,proc,sys,dev,tmp} "$iso/isolinux"
cp /bin/busybox "$root/bin/"
ln -s busybox "$root/bin/sh"

# install_file <file> [<strip option>]: under its path here.
install_file() {
  [ ! -e "$root$1" ] || return 0
  mkdir -p "$root$(dirname "$1")"
  cp -L "$1" "$root$1"
  # Reading the disk takes a large part of the boot.
  [ $# = 1 ] || strip "$2" "$root$1"
}

names=()
commands=()
while IFS=$'\t' read -r name command; do
  names+=("$name")
  commands+=("$command")
  for word in $command; do
    if [ -x "$word" ] && [ -f "$word" ]; then
      install_file "$word" --strip-all
      while read -r library; do install_file "$library"; done < <(
        ldd "$word" 2>/dev/null | grep -oE '/[^ ]+')
    fi
  done
done <"$list"
for file in ${BOCHS_FILES:-}; do install_file "$file"; done

# The marks are what this script looks for. The shell of a command is its own: one
# that ends by a signal does not end the others.
{
  cat <<'EOF'
#!/bin/sh
export PATH=/bin GTEST_COLOR=no
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs dev /dev
exec </dev/null >/dev/ttyS0 2>&1
busybox stty -F /dev/ttyS0 -opost
echo "@@start"
EOF
  for i in "${!names[@]}"; do
    printf 'echo "@@begin %s"\n(%s)\necho "@@end $?"\n' "$i" "${commands[i]}"
  done
  echo 'echo "@@done"'
  echo 'busybox sleep 1'
  echo 'busybox poweroff -f'
} >"$root/init"
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) >"$iso/initrd"

# Some of the processor's features contradict each other, so that Linux would not
# boot or not enable AVX: sizes of PKRU's state and of compact states are wrong, and
# fast short string instructions come without fast string instructions. Hence
# clearcpuid. Console messages would take most of the boot.
cp "$folder/vmlinuz" "$iso/vmlinuz"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 \
  "$iso/isolinux/"
cat >"$iso/isolinux/isolinux.cfg" <<EOF
DEFAULT linux
LABEL linux
 LINUX /vmlinuz
 INITRD /initrd
 APPEND console=ttyS0,115200 quiet loglevel=0 clearcpuid=pku,xsaves,xsavec,fsrm nokaslr mitigations=off tsc=reliable no_timer_check random.trust_cpu=on panic=-1 rdinit=/init $kernel_options
EOF
xorriso -as mkisofs -quiet -o "$folder/boot.iso" -b isolinux/isolinux.bin \
  -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table "$iso" \
  2>/dev/null

# Low `ips` makes devices, whose time is counted in instructions, fast.
serial=$folder/serial
cat >"$folder/bochsrc" <<EOF
config_interface: textconfig
display_library: term
romimage: file=$share/bochs/BIOS-bochs-latest
vgaromimage: file=$share/vgabios/vgabios.bin
cpu: model=$model, count=1, ips=4000000, reset_on_triple_fault=0
clock: sync=none
memory: guest=1024, host=1024
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$folder/boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$serial
log: $folder/log
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
EOF
echo c >"$folder/debugger"  # Debian's Bochs starts in its debugger.
rm -f "$folder/boot.iso.lock"
: >"$serial"
# Its screen wants a terminal.
TERM=vt100 timeout --kill-after=10 "${BOCHS_SECONDS:-3600}" \
  script -qec "exec $bochs -q -f '$folder/bochsrc' -rc '$folder/debugger'" \
  /dev/null </dev/null >"$folder/screen" 2>&1 &
emulator=$!
trap 'kill "$emulator" 2>/dev/null || true' EXIT
trap 'exit 1' INT TERM HUP

failed=0 is_done=false current=
while IFS= read -r line; do
  line=${line%$'\r'}
  case "$line" in
    @@start) echo "Linux runs after $SECONDS s" ;;
    "@@begin "*)
      current=${names[${line#@@begin }]}
      begin=$SECONDS
      echo "===== $current"
      ;;
    "@@end "*)
      code=${line#@@end }
      result=passed
      [ "$code" = 0 ] || { result="failed $code" failed=1; }
      echo "----- $current: $result, $((SECONDS - begin)) s"
      current=
      ;;
    @@done)
      is_done=true
      break
      ;;
    *) printf '%s\n' "$line" ;;
  esac
done < <(tail -f --pid="$emulator" -n +1 "$serial")
if ! "$is_done"; then
  echo "$0: the emulated machine ended, or its time did${current:+, in $current}:" \
    "see $folder/log and $folder/screen" >&2
  exit 1
fi
exit "$failed"

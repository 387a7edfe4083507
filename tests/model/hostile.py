# SPDX-License-Identifier: LGPL-2.1-or-later
# The command of a case: does what the operations say, each in spite of the last one's failure.
#
#   python3 -c "$(cat hostile.py)" OPERATIONS SOCKET
#
# Before that it tells facts of where it is.  OPERATIONS: JSON, a list for each process of lists [NAME, ARGUMENT…].
import os

# Before ctypes: its library may keep a file of its own open.
inherited = [fd for fd in os.listdir('/proc/self/fd') if int(fd) > 2 and os.path.islink('/proc/self/fd/' + fd)]

import ctypes, json, re, signal, socket, stat, sys, time

libc = ctypes.CDLL(None, use_errno=True)
TOKEN = re.compile(rb'TOKEN-[0-9a-f]{16}')
held, seen = [], set()
AT_FDCWD, CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID = -100, 0x10000000, 0x20000, 0x20000000
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2


def tell(data):
    for token in TOKEN.findall(data):
        if token not in seen:
            seen.add(token)
            os.write(1, token + b'\n')


def read(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        tell(os.read(fd, 65536))
    finally:
        os.close(fd)


def walk(path, most=400):
    left = most
    for folder, folders, files in os.walk(path):
        folders[:] = [f for f in folders if f not in ('proc', 'sys', 'usr')]
        left -= 1
        for name in files:
            left -= 1
            if left < 0:
                return
            there = os.path.join(folder, name)
            try:
                if os.path.islink(there):
                    tell(os.readlink(there).encode(errors='replace'))
                read(there)
            except OSError:
                pass


def write(path, text, flags=os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | flags, 0o755)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def remove(path, depth=0):
    if os.path.isdir(path) and not os.path.islink(path) and depth < 8:
        for name in os.listdir(path):
            try:
                remove(os.path.join(path, name), depth + 1)
            except OSError:
                pass
        os.rmdir(path)
    else:
        os.unlink(path)


def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[a.encode() if isinstance(a, str) else ctypes.c_long(a) for a in arguments])


def exchange(a, b):
    call(316, AT_FDCWD, a, AT_FDCWD, b, 2)


def race(a, b, n):
    for _ in range(n):
        exchange(a, b)


def race_write(path, text, n):
    for _ in range(n):
        try:
            write(path, text)
        except OSError:
            pass


def mount(source, target, flags):
    libc.mount(source.encode(), target.encode(), None, ctypes.c_ulong(flags), None)


def unshare(flags):
    libc.unshare(flags)
    if flags & CLONE_NEWUSER:
        uid = os.getuid()
        for name, text in (('setgroups', 'deny'), ('uid_map', f'0 {uid} 1'), ('gid_map', f'0 {os.getgid()} 1')):
            try:
                write('/proc/self/' + name, text, 0)
            except OSError:
                pass


def leave(path):
    """chroot(2) below what is held, and up from there."""
    fd = os.open('/', os.O_RDONLY)
    os.mkdir(path)
    os.chroot(path)
    os.fchdir(fd)
    for _ in range(64):
        os.chdir('..')
    os.chroot('.')
    walk('/', 200)


def hold(path):
    held.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY))


def held_write(name, text):
    for fd in held:
        try:
            write(f'/proc/self/fd/{fd}/{name}', text)
        except OSError:
            pass
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o755, dir_fd=fd))
        except OSError:
            pass


def held_up(levels):
    for fd in held:
        try:
            os.fchdir(fd)
            for _ in range(levels):
                os.chdir('..')
            walk('.', 100)
        except OSError:
            pass


def others():
    """What other processes here have open, and what they see."""
    for pid in os.listdir('/proc'):
        if not pid.isdigit():
            continue
        for name in ('root', 'cwd'):
            try:
                walk(f'/proc/{pid}/{name}', 100)
            except OSError:
                pass
        for name in ('environ', 'cmdline', 'mountinfo'):
            try:
                tell(open(f'/proc/{pid}/{name}', 'rb').read(65536))
            except OSError:
                pass
        try:
            for fd in os.listdir(f'/proc/{pid}/fd'):
                walk(f'/proc/{pid}/fd/{fd}/', 50)
                read(f'/proc/{pid}/fd/{fd}')
        except OSError:
            pass


def enter():
    for pid in os.listdir('/proc'):
        if pid.isdigit():
            for kind in ('mnt', 'user', 'pid', 'net'):
                try:
                    fd = os.open(f'/proc/{pid}/ns/{kind}', os.O_RDONLY)
                    libc.setns(fd, 0)
                    os.close(fd)
                except OSError:
                    pass


def handles(path):
    class Handle(ctypes.Structure):
        _fields_ = [('size', ctypes.c_uint), ('type', ctypes.c_int), ('bytes', ctypes.c_ubyte * 128)]

    handle, mount_id = Handle(128), ctypes.c_int()
    if libc.name_to_handle_at(AT_FDCWD, path.encode(), ctypes.byref(handle), ctypes.byref(mount_id), 0) < 0:
        return
    fd = os.open('/', os.O_RDONLY)
    for inode in list(range(2, 12)) + [2 ** 20]:
        if handle.size >= 4:
            ctypes.memmove(handle.bytes, inode.to_bytes(4, 'little'), 4)
        got = libc.open_by_handle_at(fd, ctypes.byref(handle), os.O_RDONLY)
        if got >= 0:
            walk(f'/proc/self/fd/{got}/', 100)


def tree(source, target):
    got = call(428, AT_FDCWD, source, 1 | 0x8000)
    if got >= 0:
        call(429, got, '', AT_FDCWD, target, 4)
        walk(f'/proc/self/fd/{got}/', 100)


def behind(operations, seconds):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(seconds)
            perform(operations)
            time.sleep(30)
        os._exit(0)


def git(*words):
    if os.fork() == 0:
        null = os.open('/dev/null', os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execvp('git', ('git',) + words)
    os.wait()


CALLS = {'keyctl': 250, 'bpf': 321, 'io_uring_setup': 425, 'perf_event_open': 298, 'userfaultfd': 323, 'unshare': 272, 'setns': 308,
         'open_by_handle_at': 304, 'add_key': 248, 'kexec_load': 246, 'init_module': 175, 'settimeofday': 164, 'x32': 0x40000000 + 39}


def fact(*words):
    os.write(1, ('FACT ' + ' '.join(str(w) for w in words) + '\n').encode(errors='replace'))


def facts(host):
    """What a command can tell of where it is; `host` is the name of an abstract socket of the host's."""
    for line in open('/proc/self/status'):
        name, _, value = line.partition(':')
        if name in ('NoNewPrivs', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'Seccomp'):
            fact(name, value.strip())
    for line in open('/proc/self/mountinfo'):
        words = line.split()
        fact('mount', words[4], words[5], words[words.index('-') + 1])
    for fd in inherited:
        fact('fd', fd, os.readlink('/proc/self/fd/' + fd))
    for name in ('user', 'mnt', 'pid', 'ipc', 'uts', 'net'):
        fact('namespace', name, os.readlink('/proc/self/ns/' + name))
    for name, number in CALLS.items():
        ctypes.set_errno(0)
        fact('call', name, 'works' if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(0)] * 6) >= 0 else ctypes.get_errno())
    there = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    fact('abstract', there.connect_ex('\0' + host) == 0)
    fact('interfaces', *sorted(n for _, n in socket.if_nameindex()) if os.path.isdir('/sys/class/net') else [])
    for path in ('/proc/sysrq-trigger', '/proc/sys/kernel/domainname', '/proc/sys/net/ipv4/ip_forward', '/sys/power/state', '/proc/1/mem'):
        try:
            os.close(os.open(path, os.O_RDWR if path.endswith('mem') else os.O_WRONLY))
            fact('opened', path)
        except OSError:
            pass
    for path in ('/model', '/usr/model', '/etc/model', '/home/model'):
        try:
            os.mkdir(path)
            fact('made', path)
        except OSError:
            pass
    try:
        write('/tmp/model', '')
        os.chmod('/tmp/model', 0o4755)
        fact('setuid')
    except OSError:
        pass


OPERATIONS = {
    'walk': walk, 'read': read, 'write': write, 'remove': remove, 'rename': os.rename, 'link': os.link,
    'append': lambda path, text: write(path, text, os.O_APPEND), 'truncate': lambda path: os.truncate(path, 0),
    'symlink': os.symlink, 'unlink': os.unlink, 'rmdir': os.rmdir, 'mkdir': os.makedirs, 'chmod': os.chmod,
    'node': lambda path, kind: os.mknod(path, (stat.S_IFCHR, stat.S_IFIFO)[kind] | 0o666, 0 if kind else os.makedev(1, 5)),
    'attribute': lambda path, name: os.setxattr(path, name, b'y'), 'exchange': exchange, 'race': race,
    'race_write': race_write, 'mount': mount, 'detach': lambda path: libc.umount2(path.encode(), MNT_DETACH),
    'pivot': lambda path: call(155, path, path), 'unshare': unshare, 'leave': leave, 'hold': hold,
    'held_write': held_write, 'held_up': held_up, 'others': others, 'enter': enter, 'handles': handles, 'tree': tree,
    'behind': behind, 'git': git, 'cd': os.chdir, 'utime': lambda path: os.utime(path, (1, 1)),
    'sleep': time.sleep,
}


def perform(operations):
    for name, *arguments in operations:
        try:
            OPERATIONS[name](*arguments)
        except (OSError, ValueError, RecursionError):
            pass


os.write(1, b'BEGUN\n')
facts(sys.argv[2])
children = []
for operations in json.loads(sys.argv[1]):
    pid = os.fork()
    if pid == 0:
        signal.alarm(5)
        perform(operations)
        os._exit(0)
    children.append(pid)
for pid in children:
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass

//go:build services && linux

package sandbox

// escape is one way out of a sandbox: a script that ends with 0 when it got out, or that leaves the
// world outside changed. With control it is also run without a sandbox, where it must work: one
// that works nowhere shows nothing. Without, it would be harmful there or takes rights that the
// tests do not have.
//
// The scripts find: O a folder outside, W the workspace, SELF the helper, TOKEN the secret, PORT
// and UDP servers of the machine, VICTIM a process of the machine, and names of further things of
// the machine.
type escape struct {
	name    string
	control bool
	script  string
}

var escapes = []escape{
	// Files outside of the workspace.
	{"read a file outside", true, `grep -q $TOKEN $O/secret`},
	{"write a file outside", true, `echo x > $O/victim`},
	{"make a file outside", true, `touch $O/new`},
	{"read through a symbolic link", true, `ln -sfn $O $W/l && cat $W/l/secret`},
	{"read through a link that was there", true, `cat $W/outside/secret`},
	{"write through a symbolic link", true, `ln -sfn $O/victim $W/l && echo x > $W/l`},
	{"swap a folder for a link", true, `mkdir $W/d && rmdir $W/d && ln -s $O $W/d && cat $W/d/secret`},
	{"hard link from outside", true, `ln $O/secret $W/h && cat $W/h`},
	{"move a file in", true, `mv $O/victim $W/`},
	{"move a file out", true, `touch $W/x && mv $W/x $O/`},
	{"root of the parent process", true, `cat /proc/$PPID/root$O/secret`},
	{"root of the first process", false, `cat /proc/1/root$O/secret`},
	{"own root", true, `cat /proc/self/root$O/secret`},
	{"working folder and up", true, `cd $W && cat /proc/self/cwd/../${O##*/}/secret`},
	{"up from the workspace", true, `cat $W/../${O##*/}/secret`},
	{"files left open", false, `for n in 3 4 5 6 7 8 9 11 12 13 14 15 16 20 24 28 32; do [ -e /proc/$$/fd/$n ] && exit 0; done; exit 1`},
	{"name of the machine in a file", true, `test -e /etc/hostname`},
	{"home folders", true, `test -e /home`},
	{"data of services", true, `test -e /var/lib`},
	{"password hashes", false, `test -s /etc/shadow`},
	{"users of the machine", true, `grep -q retinue-test /etc/passwd || grep -q $ACCOUNT /etc/passwd`},
	{"temporary files of others", true, `test -e $MARK`},
	{"shared memory in a file", true, `test -e /dev/shm/$SHM`},
	{"write to the system", false, `touch /usr/escape || touch /etc/escape || touch /escape || touch /dev/escape || touch /run/escape`},
	{"write to our own program", false, `echo x >> $SELF`},
	{"preload for everybody", false, `echo x > /etc/ld.so.preload`},
	{"a file that lends rights", true, `cp /bin/true $W/s && chmod u+s $W/s && test -u $W/s`},
	{"a file made with rights", true, `$SELF attempt setuid $W/s && test -u $W/s`},
	{"a group's file that lends rights", true, `cp /bin/true $W/s && chmod g+s $W/s && test -g $W/s`},

	// Files that somebody outside acts on.
	{"git hook", true, `echo x > $W/.git/hooks/pre-commit`},
	{"git hook through another name", true, `ln -sfn .git/hooks $W/h && echo x > $W/h/pre-commit`},
	{"git settings", true, `echo x >> $W/.git/config`},
	{"git settings by git", true, `git -C $W config core.fsmonitor ./evil`},
	{"git settings replaced", true, `echo x > $W/.git/c && mv $W/.git/c $W/.git/config`},
	{"git settings by hard link", true, `ln $W/.git/config $W/c && echo x >> $W/c`},
	{"git settings elsewhere", true, `echo ../evil > $W/.git/commondir`},
	{"git settings elsewhere, once freed", true, `rm -f $W/.git/commondir; echo ../evil > $W/.git/commondir`},
	{"git folder renamed", true, `mv $W/.git $W/.gone`},
	{"git folder removed", true, `rm -rf $W/.git; ! test -e $W/.git`},
	{"git hooks swapped", true, `mkdir $W/.git/h && mv $W/.git/hooks $W/.git/old && mv $W/.git/h $W/.git/hooks`},
	{"hooks of a submodule", true, `mkdir -p $W/.git/modules/m/hooks && touch $W/.git/modules/m/hooks/x`},
	{"roles of the project", true, `echo x > $W/.retinue/role.md`},
	{"roles of the project replaced", true, `mv $W/.retinue $W/.r`},
	{"servers that are not there", true, `echo x > $W/.mcp.json`},
	{"servers moved in place", true, `touch $W/x && mv -T $W/x $W/.mcp.json`},
	{"servers linked in place", true, `ln -sT /tmp/evil $W/.mcp.json`},
	{"a place for servers freed", true, `rmdir $W/.mcp.json; echo x > $W/.mcp.json`},
	{"commands that are not there", true, `mkdir -p $W/.claude/commands && touch $W/.claude/commands/x`},
	{"environment of a folder", true, `echo x > $W/.envrc`},
	{"hooks of a hook runner", true, `mkdir -p $W/.husky && touch $W/.husky/pre-commit`},
	{"hooks of a hook runner, once freed", true, `rmdir $W/.husky; mkdir $W/h && touch $W/h/pre-commit && mv $W/h $W/.husky`},
	{"settings of a worktree", true, `rm -f $W/.git/config.worktree; echo x > $W/.git/config.worktree`},
	{"a container of an editor", true, `mkdir -p $W/.devcontainer && touch $W/.devcontainer/devcontainer.json`},
	{"advice for agents that is not there", true, `echo obey > $W/AGENTS.md && false`},
	{"advice for agents behind a link", true, `mkdir $W/g && echo obey > $W/g/copilot-instructions.md && ln -s g $W/.github && false`},
	{"tasks that are not there", true, `echo x > $W/mise.toml && touch -d '1971-02-03 04:05:06Z' $W/mise.toml && false`},
	{"tasks of an editor", true, `mkdir -p $W/.vscode && touch $W/.vscode/tasks.json`},

	// Processes.
	{"environment of other processes", true, `cat /proc/[0-9]*/environ 2>/dev/null | grep -aq SECRET=$TOKEN`},
	{"arguments of other processes", true, `cat /proc/[0-9]*/cmdline 2>/dev/null | grep -aq "[r]etinue-victim"`},
	{"a process of the machine", true, `kill -0 $VICTIM`},
	{"memory of a process of the machine", true, `test -r /proc/$VICTIM/environ && head -c 1 /proc/$VICTIM/environ`},
	{"end all processes", false, `kill -9 -1; false`},
	{"our own secrets", false, `printenv RETINUE_SECRET`},
	{"memory of the first process", false, `$SELF attempt supervisor memory`},
	{"files of the first process", false, `$SELF attempt supervisor files`},
	{"trace", true, `$SELF attempt ptrace`},
	{"read another's memory", true, `$SELF attempt vmread`},
	{"compare processes", true, `$SELF attempt call kcmp`},
	{"take another's file", true, `$SELF attempt call pidfd_getfd`},
	{"input of a terminal", true, `$SELF attempt inject`},
	{"input of a terminal, a bit set above", true, `$SELF attempt inject high`},

	// Sockets and networks.
	{"server of the machine", true, `$SELF attempt tcp 127.0.0.1:$PORT`},
	{"server of the machine by the shell", true, `bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo hello >&3 && head -c 6 <&3 | grep -q secret"`},
	{"datagrams", true, `$SELF attempt udp 127.0.0.1:$UDP`},
	{"unix socket outside", true, `$SELF attempt unix $O/sock`},
	{"unix socket in the workspace", true, `$SELF attempt unix $W/sock`},
	{"unix socket without a file", true, `$SELF attempt unix @$ABSTRACT`},
	{"container daemon", false, `test -e /var/run/docker.sock || test -e /run/docker.sock || test -e /run/containerd`},
	{"resolver of the machine", true, `test -e /etc/resolv.conf`},
	{"netlink", true, `$SELF attempt socket netlink`},
	{"virtual machine's host", false, `$SELF attempt socket vsock`},
	{"kernel's ciphers", false, `$SELF attempt socket alg`},
	{"raw packets", false, `$SELF attempt socket packet`},
	{"raw sockets", false, `$SELF attempt socket raw`},

	// The kernel.
	{"namespace", true, `unshare -U true`},
	{"namespace with mounts", true, `unshare -r -m true`},
	{"namespace by clone", true, `$SELF attempt clone`},
	{"clone3", true, `$SELF attempt call clone3`},
	{"another's namespace", true, `$SELF attempt call setns`},
	{"mount", false, `mount -t tmpfs none $W || $SELF attempt call mount || $SELF attempt call open_tree`},
	{"remount", false, `mount -o remount,rw / || mount -o remount,rw /usr || mount -o remount,rw,bind $W/.git/hooks`},
	{"unmount what protects", false, `umount $W/.git/hooks || umount -l $W/.git/config`},
	{"root", false, `test $(id -u) = 0 || su -c true || sudo -n true`},
	{"capabilities", false, `! grep -q "^CapEff:.0000000000000000" /proc/self/status || ! grep -q "^CapBnd:.0000000000000000" /proc/self/status`},
	{"change root", false, `chroot / true`},
	{"device", false, `mknod $W/mem c 1 1`},
	{"devices of the machine", true, `test -e /dev/kmsg || test -e /dev/kvm || test -e /dev/fuse`},
	{"disks and memory", false, `test -e /dev/mem || test -e /dev/vda || test -e /dev/sda || test -e /dev/loop0`},
	{"where cores go", false, `echo x > /proc/sys/kernel/core_pattern`},
	{"system request", false, `echo h > /proc/sysrq-trigger`},
	{"control groups", true, `test -e /sys/fs/cgroup`},
	{"name of the machine", true, `test "$(uname -n)" = "$NODE"`},
	{"shared memory by key", true, `$SELF attempt shm $SHMKEY`},
	{"keyrings", true, `$SELF attempt key`},
	{"io_uring", true, `$SELF attempt call io_uring_setup`},
	{"page faults", true, `$SELF attempt call userfaultfd`},
	{"programs without a file", true, `$SELF attempt call memfd_create`},
	{"files by handle", true, `$SELF attempt call name_to_handle_at`},
	{"bpf", false, `$SELF attempt call bpf`},
	{"performance counters", false, `$SELF attempt call perf_event_open`},
	{"another kernel", false, `$SELF attempt call kexec_load || $SELF attempt call init_module`},
}

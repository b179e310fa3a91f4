package command

import (
	"slices"
	"strings"
)

// families are programs whose first words say what they do, and how many words that takes.
var families = map[string]int{
	"cargo": 1, "go": 1, "git": 1, "npm": 1, "pnpm": 1, "yarn": 1, "bun": 1, "pip": 1, "uv": 1, "poetry": 1,
	"dotnet": 1, "mvn": 1, "gradle": 1, "bundle": 1, "composer": 1, "mix": 1, "terraform": 1, "helm": 1,
}

// launchers run whatever their arguments say: to allow one is to allow everything.
var launchers = []string{
	".", "alias", "ash", "awk", "bash", "builtin", "busybox", "bwrap", "chroot", "command", "coproc", "csh", "dash",
	"deno", "doas", "docker", "ed", "enable", "env", "eval", "ex", "exec", "expect", "fish", "flock", "gawk", "gdb",
	"ionice", "ksh", "lua", "mawk", "nc", "ncat", "nice", "node", "nodejs", "nohup", "npx", "nsenter", "osascript", "parallel", "perl",
	"php", "pipx", "podman", "pwsh", "pypy", "python", "rbash", "rlwrap", "ruby", "runuser", "screen", "script", "sed", "setpriv", "setsid",
	"sh", "socat", "source", "ssh", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "tclsh", "tcsh", "time", "timeout",
	"tmux", "toybox", "trap", "unshare", "uvx", "vi", "vim", "watch", "xargs", "zsh",
}

// launches reports whether the command may run another that is given by its arguments.
func (c Command) launches() bool {
	name := strings.TrimRight(c.Program, "0123456789.")
	if slices.Contains(launchers, c.Program) || slices.Contains(launchers, name) {
		return true
	}
	for _, w := range c.words[min(1, len(c.words)):] {
		switch {
		case c.Program == "find" && slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fls", "-fprintf", "-fprint0"}, w),
			c.Program == "git" && (w == "-c" || strings.HasPrefix(w, "--config-env") || strings.HasPrefix(w, "--exec-path")),
			c.Program == "go" && (w == "run" || w == "generate" || strings.HasPrefix(strings.TrimLeft(w, "-"), "exec") || strings.HasPrefix(strings.TrimLeft(w, "-"), "toolexec")),
			c.Program == "tar" && (strings.HasPrefix(w, "--to-command") || strings.HasPrefix(w, "--checkpoint-action") || w == "-I" || strings.HasPrefix(w, "--use-compress-program")):
			return true
		}
	}
	return false
}

// destroyers take away what may not come back.
var destroyers = []string{
	"chgrp", "chmod", "chown", "crontab", "dd", "fdisk", "halt", "kill", "killall", "mkfs", "mount", "parted", "pkill", "poweroff", "reboot",
	"rm", "rmdir", "shred", "shutdown", "truncate", "umount", "unlink", "wipefs",
}

// destroys reports whether each such call should be looked at by itself.
func (c Command) destroys() bool {
	if slices.Contains(destroyers, c.Program) || strings.HasPrefix(c.Program, "mkfs.") {
		return true
	}
	if len(c.words) < 2 {
		return false
	}
	switch c.Program {
	case "git":
		return slices.Contains([]string{"push", "reset", "clean", "checkout", "restore", "rebase", "filter-branch", "gc", "update-ref", "branch", "tag", "stash", "config", "remote", "worktree"}, c.words[1])
	case "npm", "pnpm", "yarn", "cargo", "poetry", "mvn", "helm", "terraform":
		return slices.Contains([]string{"publish", "deploy", "delete", "uninstall", "destroy", "apply", "unpublish", "exec", "dlx", "x"}, c.words[1])
	}
	return false
}

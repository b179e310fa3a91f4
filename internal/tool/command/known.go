package command

import (
	"slices"
	"strings"
)

// launchers run any command in their arguments: to allow one is to allow everything.
var launchers = []string{
	".", "alias", "ash", "awk", "bash", "builtin", "busybox", "bwrap", "chroot", "command", "coproc", "csh", "dash",
	"deno", "doas", "docker", "ed", "enable", "env", "eval", "ex", "exec", "expect", "fish", "flock", "gawk", "gdb",
	"ionice", "ksh", "lua", "mawk", "nc", "ncat", "nice", "node", "nodejs", "nohup", "npx", "nsenter", "osascript", "parallel", "perl",
	"php", "pipx", "podman", "pwsh", "pypy", "python", "rbash", "rlwrap", "ruby", "runuser", "screen", "script", "sed", "setpriv", "setsid",
	"sh", "socat", "source", "ssh", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "tclsh", "tcsh", "time", "timeout",
	"tmux", "toybox", "trap", "unshare", "uvx", "vi", "vim", "watch", "xargs", "zsh",
}

// launches reports whether the command may run another from its arguments.
func (c Command) launches() bool {
	name := strings.TrimRight(c.Program, "0123456789.")
	if slices.Contains(launchers, c.Program) || slices.Contains(launchers, name) {
		return true
	}
	return runsAnother(c.Program, c.words[min(1, len(c.words)):])
}

// launching are the commands of programs that run what the rest of the line says. A name of two
// words is one command.
var launching = map[string][]string{
	"git": {
		"bisect run", "submodule foreach", "difftool", "mergetool", "filter-branch", "instaweb", "web--browse", "daemon", "shell",
		"send-email", "for-each-repo", "maintenance", "p4", "svn", "credential", "hook",
	},
	"go": {"run", "generate", "tool"}, "cargo": {"run", "r", "bench", "install"}, "npm": {"exec", "x", "init", "create", "explore"},
	"pnpm": {"exec", "dlx", "create"}, "yarn": {"exec", "dlx", "create", "node"}, "bun": {"x", "run", "create"}, "uv": {"run", "tool", "x"},
	"poetry": {"run", "shell"}, "bundle": {"exec", "console"}, "pipenv": {"run", "shell"}, "hatch": {"run", "shell"}, "pdm": {"run"},
	"rye": {"run"}, "composer": {"exec", "run-script", "run"}, "dotnet": {"run", "exec", "tool", "script"}, "mix": {"run", "eval", "cmd", "do"},
	"mvn": {"exec:exec", "exec:java"}, "conda": {"run"}, "mamba": {"run"}, "asdf": {"exec"}, "mise": {"exec", "x", "run"}, "direnv": {"exec"},
	"kubectl": {"exec", "run", "debug", "cp", "plugin"}, "helm": {"plugin"}, "terraform": {"console"}, "gh": {"extension", "alias", "codespace"},
}

// launchFlags begin options that name a program to run, or a file that says which.
var launchFlags = map[string][]string{
	"find": {"-exec", "-ok", "-delete", "-fprint", "-fls"},
	"git": {
		"-c", "--config-env", "--exec-path", "--exec", "-x", "--extcmd", "-O", "--open-files-in-pager", "--ext-diff", "--textconv",
		"--upload-pack", "--receive-pack", "--output", "--template", "--separate-git-dir", "--git-dir", "--work-tree", "--super-prefix",
	},
	"go":  {"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-overlay", "--overlay", "-modfile", "--modfile"},
	"tar": {"--to-command", "--checkpoint-action", "-I", "--use-compress-program", "-F", "--info-script", "--new-volume-script", "--rsh-command"},
	"rg":  {"--pre", "--hostname-bin"}, "sort": {"--compress-program"}, "rsync": {"-e", "--rsh"}, "scp": {"-S", "-o"}, "wget": {"--use-askpass", "-e", "--execute"},
	"zip": {"-T", "--unzip-command"}, "make": {"--eval"}, "cargo": {"--config"}, "npm": {"--script-shell", "--node-options"},
}

// runsAnother reports whether a program runs what its arguments name.
func runsAnother(program string, arguments []string) bool {
	var verbs []string
	for _, w := range arguments {
		for _, flag := range launchFlags[program] {
			if strings.HasPrefix(w, flag) {
				return true
			}
		}
		if !strings.HasPrefix(w, "-") {
			verbs = append(verbs, w)
		}
	}
	line := strings.Join(verbs, " ") + " "
	for _, name := range launching[program] {
		// Behind an option nobody knows which word is its value.
		if strings.HasPrefix(line, name+" ") || strings.HasPrefix(arguments[0], "-") && strings.Contains(" "+line, " "+name+" ") {
			return true
		}
	}
	return false
}

// destroyers are commands whose effects may be final.
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

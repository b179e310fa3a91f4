package tiers

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

var (
	cpuName  = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)
	memTotal = regexp.MustCompile(`(?m)^MemTotal:\s*(\d+) kB`)
)

// Machine describes this machine in a few words.
func Machine() string {
	words := []string{fmt.Sprintf("%d cores", runtime.NumCPU())}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := cpuName.FindSubmatch(text); found != nil {
			words = append(words, string(found[1]))
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if found := memTotal.FindSubmatch(text); found != nil {
			if kilobytes, err := strconv.Atoi(string(found[1])); err == nil {
				words = append(words, fmt.Sprintf("%.0f GiB", float64(kilobytes)/(1<<20)))
			}
		}
	}
	return strings.Join(append(words, runtime.GOOS+"/"+runtime.GOARCH), ", ")
}

// Commit names what is checked out, with a plus if files other than the proof differ from it.
func Commit(root string) (string, error) {
	short, err := git(root, "rev-parse", "--short", "HEAD")
	if err != nil {
		return "", err
	}
	status, err := git(root, "status", "--porcelain", "--", ".", ":!docs/proof.md")
	if err != nil {
		return "", err
	}
	if status != "" {
		short += "+"
	}
	return short, nil
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

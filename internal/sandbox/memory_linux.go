package sandbox

import (
	"os"
	"strconv"
	"strings"
)

// maxCounted ends the walk over a tree of processes that grows faster than it is read.
const maxCounted = 4096

// memoryBelow counts the bytes that a process and all below it hold in memory. Memory that they
// share with each other is counted once for each; files they only map are not counted.
func memoryBelow(pid int) uint64 {
	var pages uint64
	todo := []int{pid}
	for n := 0; len(todo) > 0 && n < maxCounted; n++ {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		process := "/proc/" + strconv.Itoa(next)
		text, err := os.ReadFile(process + "/status")
		if err != nil {
			continue // gone meanwhile
		}
		pages += resident(string(text))
		tasks, err := os.ReadDir(process + "/task")
		if err != nil {
			continue
		}
		for _, task := range tasks {
			children, err := os.ReadFile(process + "/task/" + task.Name() + "/children")
			if err != nil {
				continue
			}
			for _, child := range strings.Fields(string(children)) {
				if id, err := strconv.Atoi(child); err == nil {
					todo = append(todo, id)
				}
			}
		}
	}
	return pages
}

// resident reads the bytes of a process that no file stands behind.
func resident(status string) uint64 {
	var sum uint64
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if name != "RssAnon" && name != "RssShmem" {
			continue
		}
		if fields := strings.Fields(value); len(fields) == 2 {
			if kib, err := strconv.ParseUint(fields[0], 10, 64); err == nil {
				sum += kib << 10
			}
		}
	}
	return sum
}

// parentOf is the number of a process's parent, or 0.
func parentOf(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "PPid:"); ok {
			if parent, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
				return parent
			}
		}
	}
	return 0
}

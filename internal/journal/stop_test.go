package journal

import "testing"

// TestStopPosts has names with the letters that part them.
func TestStopPosts(t *testing.T) {
	t.Parallel()
	for _, want := range [][3]string{
		{"x1", "ann@example.com", "main/1.0"}, {"a|b", "o|neil@example.com", ""}, {"100%", "a%7Cb", "main"}, {"", "", ""}, {"ä/ö:", "|", "main/2.1"},
	} {
		id, by, task, ok := StopOf(StopPost(want[0], want[1], want[2]))
		if got := [3]string{id, by, task}; got != want || !ok {
			t.Errorf("%q became %q, %v", want, got, ok)
		}
	}
	if _, _, _, ok := StopOf("said:x"); ok {
		t.Error("what somebody said is taken for a command to stop")
	}
}

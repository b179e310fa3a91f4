package chat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHiddenImagesLeaveANote(t *testing.T) {
	result := func(call, text string) Part { return Part{Kind: PartToolResult, Call: call, Text: text} }
	use := func(call string) Part { return Part{Kind: PartToolUse, Call: call, Tool: "look", Args: "{}"} }
	of := func(call, ref string) Part { return Part{Kind: PartImage, Call: call, Image: ref} }
	shown := Transcript{
		fromUser("m1", text("look"), image("old")),
		{ID: "t1", Speaker: Assistant, Parts: []Part{use("1.0"), use("1.1")}},
		fromUser("m2", result("1.0", "a"), result("1.1", "b"), of("1.0", "new"), of("1.1", "old")),
	}
	want := Transcript{
		fromUser("m1", text("look"), text("(gone)")),
		shown[1],
		fromUser("m2", result("1.0", "a"), result("1.1", "b\n(gone)"), of("1.0", "new")),
	}
	before := cmp.Diff(want, shown)
	got := shown.Hide("(gone)", func(ref string) bool { return ref == "old" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if after := cmp.Diff(want, shown); after != before {
		t.Error("the transcript that was given is another now")
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if err := shown.Validate(); err != nil {
		t.Error(err)
	}
	stray := Transcript{shown[0], shown[1], fromUser("m2", result("1.0", "a"), result("1.1", "b"), of("2.0", "new"))}
	if err := stray.Validate(); err == nil || err.Error() != `invalid: message m2 has an image of call "2.0", whose result is missing` {
		t.Errorf("got %v", err)
	}
}

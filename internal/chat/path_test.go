package chat_test

import (
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
)

func TestAgentPath(t *testing.T) {
	t.Parallel()
	root := chat.AgentPath(chat.Root)
	child := root.Child(chat.NewCallID(7, 1).Child(2))
	grandchild := child.Child("1.0.0")
	if child != "main/7.1.2" || child.Parent() != root || root.Parent() != "" || child.Name() != "7.1.2" || root.Name() != "main" {
		t.Errorf("%s, its parent %s, its name %s", child, child.Parent(), child.Name())
	}
	if root.Depth() != 0 || child.Depth() != 1 || grandchild.Depth() != 2 {
		t.Errorf("depths %d, %d, %d", root.Depth(), child.Depth(), grandchild.Depth())
	}
	if rest, ok := grandchild.Below(root); !ok || rest != "7.1.2/1.0.0" {
		t.Errorf("below the root: %q, %t", rest, ok)
	}
	for _, other := range []chat.AgentPath{"main", "mainly/1.0.0", "main/7.1.20"} {
		if other.IsBelow(child) || child.IsBelow(child) || other.IsBelow("main/7.1.2") {
			t.Errorf("%s is below %s", other, child)
		}
	}
	if a := grandchild.Address(); a != "main~7.1.2~1.0.0" || chat.ParseAddress(a) != grandchild {
		t.Errorf("address %s", a)
	}
	if chat.CallOf(child.Name()) != "7.1" || chat.CallOf("main") != "" {
		t.Errorf("calls %q and %q", chat.CallOf(child.Name()), chat.CallOf("main"))
	}
}

func TestCallID(t *testing.T) {
	t.Parallel()
	for id, want := range map[chat.CallID][2]int{"0.0": {}, "12.3": {12, 3}} {
		if turn, item, ok := id.Parse(); !ok || turn != want[0] || item != want[1] || chat.NewCallID(turn, item) != id {
			t.Errorf("%s is %d, %d, %t", id, turn, item, ok)
		}
	}
	for _, id := range []chat.CallID{"", "1", "1.", ".1", "a.1", "1.b", "-1.0", "1.-1", "1.2.3"} {
		if turn, item, ok := id.Parse(); ok {
			t.Errorf("%q is call %d, %d", id, turn, item)
		}
	}
}

func TestCallRef(t *testing.T) {
	t.Parallel()
	ref := chat.RefOf("main/7.1.2", "3.0")
	if s := ref.String(); s != "main/7.1.2#3.0" || chat.ParseCallRef(s) != ref {
		t.Errorf("name %s", s)
	}
	if a := ref.Address(); a != "main~7.1.2:3.0" {
		t.Errorf("address %s", a)
	} else if back, ok := chat.ParseCallAddress(a); !ok || back != ref {
		t.Errorf("address %s is %v, %t", a, back, ok)
	}
	for _, address := range []string{"", "main", "main:", ":3.0"} {
		if ref, ok := chat.ParseCallAddress(address); ok {
			t.Errorf("%q names %v", address, ref)
		}
	}
	if ref := chat.ParseCallRef("main"); ref != chat.RefOf("main", "") {
		t.Errorf("an agent alone is %v", ref)
	}
}

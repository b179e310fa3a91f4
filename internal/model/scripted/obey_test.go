package scripted

import (
	"testing"

	"github.com/retinue-dev/retinue/internal/model/scripted/request"
)

func TestAnOrderIsFoundInTheNewestText(t *testing.T) {
	order := func(tool string) string {
		text, err := Order(tool, map[string]any{"x": 1})
		if err != nil {
			t.Fatal(err)
		}
		return "please " + text + "."
	}
	for name, c := range map[string]struct {
		request request.Request
		tool    string
	}{
		"result":       {request.Request{Turn: 1, Text: order("old"), Results: []string{order("a"), "1\t" + order("b")}}, "b"},
		"picture":      {request.Request{Turn: 1, Results: []string{"a picture"}, Pictures: []string{"\x89PNG" + order("drawn")}}, "drawn"},
		"user":         {request.Request{Turn: 2, Text: order("asked")}, "asked"},
		"task":         {request.Request{System: order("task"), Text: "Begin."}, "task"},
		"handed out":   {request.Request{System: Task(order("task")), Text: "Begin."}, "task"},
		"its report":   {request.Request{Turn: 1, Results: []string{Task(order("task"))}}, ""},
		"old task":     {request.Request{Turn: 1, System: order("task"), Text: "Go on."}, ""},
		"nothing new":  {request.Request{Turn: 1, Text: order("old"), Results: []string{"denied"}}, ""},
		"no order":     {request.Request{Text: "ORDER(bm8)"}, ""},
		"no base64":    {request.Request{Text: "ORDER(x)"}, ""},
		"empty picked": {request.Request{}, ""},
	} {
		got, ok := (&ask{Request: &c.request}).order()
		if got.tool != c.tool || ok != (c.tool != "") || ok && got.args != `{"x":1}` {
			t.Errorf("%s: %+v %t", name, got, ok)
		}
	}
}

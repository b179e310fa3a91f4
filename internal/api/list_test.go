package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// TestListSaysWhatRuns reads what a list says of tasks under way, and of how turns ended.
func TestListSaysWhatRuns(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	_, first := o.begin(t, "key-first")
	_, second := o.begin(t, "key-second")
	o.write(t, second, journal.StatusChanged{In: mainTask, Serial: 1, Status: chat.StatusCompleted},
		journal.TurnEnded{In: mainTask, Serial: 1, Turn: 1, Status: chat.StatusCancelled})
	var list wire.Conversations
	o.send(t, http.MethodGet, "/v1/conversations", "", "").into(t, http.StatusOK, &list)
	got := map[string]string{}
	for _, c := range list.Items {
		got[c.ID] = fmt.Sprint(c.Running, c.Last)
	}
	if diff := cmp.Diff(map[string]string{first.Conversation: "1", second.Conversation: "0cancelled"}, got); diff != "" {
		t.Errorf("what runs (+) against the wanted (-):\n%s", diff)
	}
}

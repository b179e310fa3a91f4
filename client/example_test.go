package client_test

import (
	"context"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// Ask a question and print the answer as soon as the turn has ended.
func Example() {
	server := apitest.Start(quietly{}, nil) // yours is at http://127.0.0.1:7433
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	c := &client.Client{BaseURL: server.URL, Key: apitest.Token}
	conversation, err := c.Create(ctx, wire.NewConversation{Title: "Fruit", Message: "Which keeps longest?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	go answer(ctx, server, conversation.ID)

	for event, err := range c.Follow(ctx, conversation.ID, client.FollowOptions{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch data := event.Data.(type) {
		case wire.Message:
			fmt.Println(data.Text())
		case wire.TurnEnd:
			fmt.Println("turn", data.Turn, data.Status)
			return
		}
	}
	// Output:
	// Apples do.
	// turn 1 completed
}

// quietly is the test that an example does not have.
type quietly struct{}

func (quietly) Helper()           {}
func (quietly) Cleanup(func())    {}
func (quietly) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// answer is what agents would do.
func answer(ctx context.Context, server *apitest.Server, conversation string) {
	in := journal.In{Agent: "main", Task: "main"}
	ref := journal.Ref{Tenant: apitest.Tenant, Conversation: conversation}
	_, err := server.Log.Append(ctx, ref, time.Now(),
		journal.MessageAdded{In: in, Turn: 1, Message: chat.Message{
			ID: "r1", Speaker: chat.Assistant, Parts: []chat.Part{{Kind: chat.PartText, Text: "Apples do."}},
		}},
		journal.TurnEnded{In: in, Serial: 1, Turn: 1, Status: chat.StatusCompleted})
	if err != nil {
		fmt.Println(err)
	}
}

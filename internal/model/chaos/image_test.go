package chaos

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// TestTheImageOfAResultPassesBothWires sends one through the real adapters to a model that refuses
// what a provider would, and through a router to a model that takes text only.
func TestTheImageOfAResultPassesBothWires(t *testing.T) {
	script, err := scripted.Parse("image.yaml", []byte("name: image\ndefault: {text: 'A dot.'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := scripted.New(script, scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent = string(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		m.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	pixels := []byte("\x89PNG\r\n\x1a\nand so on")
	request := request("What is it?")
	request.Transcript[2].Parts = append(request.Transcript[2].Parts, chat.Part{Kind: chat.PartImage, Call: "1.0", Image: "dot"})
	request.Images = map[string]model.Image{"dot": {MediaType: "image/png", Data: pixels}}
	for _, a := range adapters {
		client, err := a.at(server.URL, "key")
		if err != nil {
			t.Fatal(err)
		}
		for blind, want := range map[bool]int{false: 1, true: 0} {
			to := model.Route{Provider: string(a.provider), Model: "m"}
			router, err := model.NewRouter(model.RouterOptions{
				Clients: map[string]model.Client{to.Provider: client}, TextOnly: map[model.Route]bool{to: blind},
			})
			if err != nil {
				t.Fatal(err)
			}
			request.Model = to.String()
			reply, err := router.Generate(t.Context(), request, nil)
			if err != nil || len(reply.Parts) != 1 || reply.Parts[0].Text != "A dot." {
				t.Errorf("%s: %+v %v", a.provider, reply, err)
			}
			if got := strings.Count(sent, base64.StdEncoding.EncodeToString(pixels)); got != want {
				t.Errorf("%s, text only %t: the image was sent %d times in %.2000s", a.provider, blind, got, sent)
			}
			if told := strings.Contains(sent, "this model reads text only"); told != blind {
				t.Errorf("%s, text only %t: told so is %t", a.provider, blind, told)
			}
		}
	}
}

package bridge

import (
	"context"
	"net/http"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
)

// writeTime is how long a reader may take to take anything.
const writeTime = 30 * time.Second

// Patient is an answer that may take long. The server's own limits suit answers that are ready at
// once; here each piece has a limit of its own.
type Patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

// NewPatient lifts the limit of an answer.
func NewPatient(w http.ResponseWriter) (*Patient, error) {
	p := &Patient{ResponseWriter: w, control: http.NewResponseController(w)}
	return p, p.control.SetWriteDeadline(time.Time{})
}

// Write implements http.ResponseWriter.
func (p *Patient) Write(data []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return p.ResponseWriter.Write(data)
}

// Flush implements http.Flusher. The next Write finds out that a client cannot be reached.
func (p *Patient) Flush() { _ = p.control.Flush() }

// Unwrap lets a http.ResponseController through.
func (p *Patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// disconnectTime is how long the command may take that follows a client's going.
const disconnectTime = 10 * time.Second

// DisconnectHeader says whether a user turn whose client goes away continues or is cancelled.
const DisconnectHeader = "Retinue-On-Disconnect"

// Gone is called when a client went away. It cancels the user turn if the client wished so.
func (h *Service) Gone(r *http.Request, x *UserTurn) {
	if r.Header.Get(DisconnectHeader) != "cancel" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), disconnectTime)
	defer cancel()
	// The server carries it out even under load: nobody is left who could send it again.
	if err := h.commander.Cancel(ctx, x.ref, "disconnect-"+x.Message); err != nil {
		_ = h.Server.Guard().Explain(ctx, err) // it is logged there, and nobody is left to be told
	}
}

// Allowed reports what a caller lacks who sends a message and reads the result.
func Allowed(ctx context.Context) error {
	if err := admission.Permit(ctx, admission.AccessCommand); err != nil {
		return err
	}
	return admission.Permit(ctx, admission.AccessRead)
}

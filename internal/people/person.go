package people

import (
	"net/mail"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Person is a person as an identity provider describes them. Issuer and subject identify them;
// others invite them by the address, which may change.
type Person struct {
	Issuer  string
	Subject string
	// Email is verified by the issuer.
	Email string
	Name  string
}

// ID names a person, the same on every login.
func (p Person) ID() string { return "u" + p.digest() }

// Home is the tenant of their own that a person's first login makes.
func (p Person) Home() string { return "t" + p.digest() }

func (p Person) digest() string {
	return lower.EncodeToString(hash(p.Issuer + "\x00" + p.Subject)[:15])
}

// mostEmail is how long an address may be.
const mostEmail = 254

// Email is an address as it is compared.
func Email(text string) (string, error) {
	text = strings.TrimSpace(text)
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text || len(text) > mostEmail {
		return "", &chat.Error{Code: chat.CodeInvalid, Message: "this is not an e-mail address"}
	}
	return strings.ToLower(text), nil
}

package people

import "github.com/retinue-dev/retinue/internal/chat"

// Confirm refuses to delete a tenant whose name was not said.
func Confirm(name, said string) error {
	if said == name {
		return nil
	}
	return &chat.Error{Code: chat.CodeInvalid, Message: "this is not the name of the tenant: say its name exactly, so that no other is deleted"}
}

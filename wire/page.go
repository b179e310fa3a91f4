package wire

// Page is a part of a list.
type Page[T any] struct {
	Items []T `json:"items" doc:"In the order in which they came into being."`
	// Before asks for the page before this one.
	Before int64 `json:"before,omitempty" doc:"Ask with this for what came before; absent when nothing did."`
}

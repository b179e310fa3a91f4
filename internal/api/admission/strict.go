package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// typed refuses a body that does not say what it is: a page of another origin can make a browser
// send such a one without asking.
func typed(r *http.Request) error {
	if r.ContentLength == 0 || r.Method == http.MethodGet || r.Header.Get("Content-Type") != "" {
		return nil
	}
	return &Problem{
		Status: http.StatusUnsupportedMediaType, Code: "invalid", Detail: "the body does not say what it is",
		Next: "send 'Content-Type: application/json'",
	}
}

// maxDepth is how many lists and objects of a document may lie in each other.
const maxDepth = 64

// JSON is how bodies are read and answers written: it reads JSON that means one thing only.
var JSON = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	},
	Unmarshal: func(data []byte, v any) error {
		if err := Unambiguous(data); err != nil {
			return err
		}
		return json.Unmarshal(data, v)
	},
}

// Unambiguous refuses what readers of JSON differ about: a name twice in one object, something
// behind the end, and nesting without end.
func Unambiguous(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := checkValue(d, 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the end of the document")
	}
	return nil
}

func checkValue(d *json.Decoder, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if depth >= maxDepth {
		return fmt.Errorf("the document is nested deeper than %d", maxDepth)
	}
	names := map[string]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := name.(string)
			if names[key] {
				return fmt.Errorf("the name %q is there twice", key)
			}
			names[key] = true
		}
		if err := checkValue(d, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// CheckJSON refuses a body that readers of JSON differ about.
func CheckJSON(data []byte) error {
	if err := Unambiguous(data); err != nil {
		return &Problem{
			Status: http.StatusBadRequest, Code: "invalid", Detail: "the body is not JSON that means one thing: " + err.Error(),
			Next: "send one document in which no name is there twice",
		}
	}
	return nil
}

package supply

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNoticeHasEveryNameAndEachTextOnce(t *testing.T) {
	parts := []Part{
		part(t, "example.com/a", "", map[string]string{"LICENSE": "ISC License\n\nCopyright (c) 2020 Ann\n\n" + isc}),
		part(t, "example.com/b", "", map[string]string{
			"LICENSE": "Copyright 2021 Bob\r\nAll rights reserved.\r\n\r\n" + strings.ReplaceAll(isc, "\n", "\r\n"),
			"NOTICE":  "Bob asks to be named.\n", "COPYRIGHT": "Copyright 2022 Bea\n",
		}),
	}
	got, err := Notice(parts)
	if err != nil {
		t.Fatal(err)
	}
	line, thin := strings.Repeat("=", 80), strings.Repeat("-", 80)
	want := noticeHead + "Go example.com/a: ISC\nGo example.com/b: ISC\n" +
		"\n" + line + "\nexample.com/a\n    Copyright (c) 2020 Ann\nexample.com/b\n    Copyright 2021 Bob\n    All rights reserved.\n" + thin + "\n\n" + isc +
		"\n" + line + "\nexample.com/b\n    Copyright 2022 Bea\n" + thin + "\n\n\n" +
		"\n" + line + "\nexample.com/b\n" + thin + "\n\nBob asks to be named.\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	parts = append(parts, part(t, "example.com/c", "", nil))
	if _, err := Notice(parts); err == nil {
		t.Error("a part without a licence was written down")
	}
}

package builtin_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
)

// webpDot is a WebP of one pixel.
const webpDot = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func openImages(t *testing.T, dir string) *tool.Set {
	t.Helper()
	w, err := builtin.Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	s, err := tool.NewSet(tool.Options{}, w.Images()...)
	must(t, err)
	return s
}

// pngHead is the beginning of a PNG that claims a size.
func pngHead(width, height uint32) []byte {
	chunk := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	chunk = append(binary.BigEndian.AppendUint32(chunk, height), 8, 2, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), chunk...)
	return append(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk)), "IEND"...)
}

func TestImagesComeWithTypeAndSize(t *testing.T) {
	picture := image.NewPaletted(image.Rect(0, 0, 7, 5), color.Palette{color.Black, color.White})
	var asPNG, asJPEG, asGIF bytes.Buffer
	must(t, png.Encode(&asPNG, picture))
	must(t, jpeg.Encode(&asJPEG, picture, nil))
	must(t, gif.Encode(&asGIF, picture, nil))
	webp, err := base64.StdEncoding.DecodeString(webpDot)
	must(t, err)
	dir := t.TempDir()
	s := openImages(t, dir)
	for _, c := range []struct {
		name, kind, want string
		data             []byte
	}{
		{"a.png", "image/png", "a.png is image/png, 7 by 5 pixels, %d bytes.\n", asPNG.Bytes()},
		{"b.png", "image/jpeg", "b.png is image/jpeg, 7 by 5 pixels, %d bytes.\n", asJPEG.Bytes()},
		{"c", "image/gif", "c is image/gif, 7 by 5 pixels, %d bytes.\n", asGIF.Bytes()},
		{"d.webp", "image/webp", "d.webp is image/webp, 1 by 1 pixels, %d bytes.\n", webp},
	} {
		must(t, os.WriteFile(filepath.Join(dir, c.name), c.data, 0o644))
		r := ask(t, s, "read_image", quote("path", c.name))
		want := tool.Result{
			End: tool.EndOK, Text: strings.ReplaceAll(c.want, "%d", strconv.Itoa(len(c.data))),
			Facts:  tool.Facts{Read: []tool.File{{Path: c.name, Hash: hashOf(string(c.data)), Bytes: int64(len(c.data))}}},
			Images: []tool.Image{{Type: c.kind, Data: c.data}},
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if r.Tokens() < 1000 {
			t.Errorf("an image takes %d tokens", r.Tokens())
		}
		cut := "cut-" + c.name
		must(t, os.WriteFile(filepath.Join(dir, cut), c.data[:len(c.data)-12], 0o644))
		if r := ask(t, s, "read_image", quote("path", cut)); r.End != tool.EndFailed || r.Images != nil {
			t.Errorf("%s: %s", cut, r.Text)
		}
	}
}

func TestWhatIsNoImageForAModelIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openImages(t, dir)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"text.png":   {[]byte("hello"), "text.png cannot be shown: it is text/plain; charset=utf-8; known are PNG, JPEG, GIF and WebP"},
		"empty.png":  {nil, "empty.png cannot be shown: it is text/plain; charset=utf-8; known are PNG, JPEG, GIF and WebP"},
		"page.svg":   {[]byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), "page.svg cannot be shown: it is text/plain; charset=utf-8; known are PNG, JPEG, GIF and WebP"},
		"head.png":   {[]byte("\x89PNG\r\n\x1a\n"), "head.png cannot be shown: it is a broken image/png: unexpected EOF"},
		"wide.png":   {pngHead(8001, 1), "wide.png cannot be shown: it has 8001 by 1 pixels, more than 8000 on a side or 40000000 in all"},
		"bomb.png":   {pngHead(8000, 8000), "bomb.png cannot be shown: it has 8000 by 8000 pixels, more than 8000 on a side or 40000000 in all"},
		"vast.png":   {pngHead(1<<31-1, 1<<31-1), "vast.png cannot be shown: it is a broken image/png: png: unsupported feature: dimension overflow"},
		"large.png":  {append(pngHead(10, 10), make([]byte, 3_750_000)...), "large.png has 3750037 bytes, more than the 3750000 that a model is shown"},
		"folder.png": {nil, "folder.png is a folder: list_dir shows what is in it"},
	} {
		full := filepath.Join(dir, name)
		if name == "folder.png" {
			must(t, os.Mkdir(full, 0o755))
		} else {
			must(t, os.WriteFile(full, c.data, 0o644))
		}
		if diff := cmp.Diff(tool.Result{End: tool.EndFailed, Text: c.want}, ask(t, s, "read_image", quote("path", name))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	hostileDir, _ := hostile(t)
	hostileSet := openImages(t, hostileDir)
	for _, p := range []string{"file", "zero", "pipe", "../outside/secret.txt", "/etc/passwd", "proc/exe"} {
		if r := ask(t, hostileSet, "read_image", quote("path", p)); r.End != tool.EndFailed || r.Images != nil {
			t.Errorf("%s: %s", p, r.Text)
		}
	}
}

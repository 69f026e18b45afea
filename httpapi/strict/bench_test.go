package strict

import (
	"encoding/json"
	"strings"
	"testing"
)

type sendBody struct {
	Number  *string `json:"number"`
	Options struct {
		Delay      int64   `json:"delay"`
		Presence   string  `json:"presence"`
		Attributes *Object `json:"externalAttributes"`
	} `json:"options"`
	Text struct {
		Text string `json:"text" strict:"required"`
	} `json:"textMessage" strict:"required"`
}

type batchBody struct {
	Name       string          `json:"name" strict:"required"`
	Recipients []string        `json:"recipients" strict:"required"`
	Attributes json.RawMessage `json:"externalAttributes"`
}

// BenchmarkDecode reads the body of a send, one of 100 000 recipients, and one that is kept unchanged.
func BenchmarkDecode(b *testing.B) {
	recipients := strings.Repeat(`"+49 151 12345678",`, 99_999) + `"+49 151 12345678"`
	attributes := `{"items":[` + strings.Repeat(`{"id":12345,"name":"a name of some length","ok":true},`, 999) + `null]}`
	b.Run("send", func(b *testing.B) {
		benchmark[sendBody](b, `{"number":"4915112345678","options":{"delay":1200,"presence":"composing","externalAttributes":{"order":42}},"textMessage":{"text":"Hello, this is a text of usual length – with a dash."}}`)
	})
	b.Run("recipients", func(b *testing.B) { benchmark[batchBody](b, `{"name":"n","recipients":[`+recipients+`]}`) })
	b.Run("attributes", func(b *testing.B) {
		benchmark[batchBody](b, `{"name":"n","recipients":[],"externalAttributes":`+attributes+`}`)
	})
}

func benchmark[T any](b *testing.B, body string) {
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var v T
		if err := Decode(strings.NewReader(body), &v, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

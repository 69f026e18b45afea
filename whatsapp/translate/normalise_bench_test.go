package translate

import (
	"testing"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

// BenchmarkNormalise is the cost of type and content alone, without addresses.
func BenchmarkNormalise(b *testing.B) {
	for _, c := range []struct {
		name string
		m    *waE2E.Message
	}{
		{"text", text("hello, two loaves please")},
		{"image", &waE2E.Message{ImageMessage: &waE2E.ImageMessage{
			URL: new("https://mmg.whatsapp.net/v/t62.7118-24/x"), Mimetype: new("image/jpeg"), Caption: new("a caption"),
			FileSHA256: make([]byte, 32), FileLength: proto.Uint64(70_000), Height: proto.Uint32(800), Width: proto.Uint32(600),
			MediaKey: make([]byte, 32), FileEncSHA256: make([]byte, 32), DirectPath: new("/v/t62.7118-24/x"), JPEGThumbnail: make([]byte, 900),
		}}},
		{"reaction", &waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{
			Key: &waCommon.MessageKey{RemoteJID: new("1@lid"), FromMe: new(true), ID: new("3EB0AA")}, Text: new("👍"), SenderTimestampMS: proto.Int64(5),
		}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, ok := normalise(c.m); !ok {
					b.Fatal("no content")
				}
			}
		})
	}
}

// BenchmarkMessageFact is the whole translation of one text in a direct chat.
func BenchmarkMessageFact(b *testing.B) {
	Translator := testTranslator()
	evt := fromAnne(text("hello, two loaves please"))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Translator.Message(nil, evt); !ok {
			b.Fatal("not reported")
		}
	}
}

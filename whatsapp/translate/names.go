package translate

import (
	"strings"
	"sync"
	"unicode"

	"go.mau.fi/whatsmeow/proto/instamadilloAddMessage"
	"go.mau.fi/whatsmeow/proto/instamadilloDeleteMessage"
	"go.mau.fi/whatsmeow/proto/instamadilloSupplementMessage"
	"go.mau.fi/whatsmeow/proto/waArmadilloApplication"
	"go.mau.fi/whatsmeow/proto/waConsumerApplication"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waSyncAction"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// contentField is one field of a message type, with precomputed properties.
type contentField struct {
	protoreflect.FieldDescriptor
	name    string // in lower camel case
	key     string // name as the key of a JSON object, with its colon
	wrapper bool   // holds another message and only qualifies it
	rider   bool   // accompanies any message and is never its content
}

// contentFields returns the fields of a message type in the schema's order.
func contentFields(d protoreflect.MessageDescriptor) []contentField {
	if fields, ok := knownFields()[d]; ok {
		return fields
	}
	return describeFields(d)
}

// knownFields is the table of all message types that a message or an app state action
// can contain. It is built for the first message, in milliseconds: to compute the names
// for every message would cost more than the rest of the translation.
var knownFields = sync.OnceValue(func() map[protoreflect.MessageDescriptor][]contentField {
	known := map[protoreflect.MessageDescriptor][]contentField{}
	var add func(protoreflect.MessageDescriptor)
	add = func(d protoreflect.MessageDescriptor) {
		if _, seen := known[d]; seen {
			return
		}
		known[d] = describeFields(d)
		for _, f := range known[d] {
			if f.Message() != nil {
				add(f.Message())
			}
		}
	}
	for _, root := range []proto.Message{
		(*waE2E.Message)(nil), (*waE2E.PollVoteMessage)(nil), (*waE2E.EventResponseMessage)(nil),
		(*waSyncAction.SyncActionValue)(nil),
		(*waConsumerApplication.ConsumerApplication)(nil), (*waArmadilloApplication.Armadillo)(nil),
		(*instamadilloAddMessage.AddMessagePayload)(nil),
		(*instamadilloSupplementMessage.SupplementMessagePayload)(nil),
		(*instamadilloDeleteMessage.DeleteMessagePayload)(nil),
	} {
		add(root.ProtoReflect().Descriptor())
	}
	return known
})

func describeFields(d protoreflect.MessageDescriptor) []contentField {
	fields := make([]contentField, d.Fields().Len())
	for i := range fields {
		f := d.Fields().Get(i)
		name := lowerCamel(string(f.Name()))
		fields[i] = contentField{
			FieldDescriptor: f,
			name:            name,
			key:             `"` + name + `":`,
			wrapper:         wraps(f),
			rider:           carriesNoContent(f.Name()),
		}
	}
	return fields
}

// wraps reports whether a field holds another message and only qualifies it. The schema
// has one type for all future wrappers, so this holds for later versions of it too.
func wraps(f protoreflect.FieldDescriptor) bool {
	if f.Message() == nil || f.Cardinality() == protoreflect.Repeated {
		return false
	}
	switch f.Message().FullName() {
	case (*waE2E.FutureProofMessage)(nil).ProtoReflect().Descriptor().FullName(),
		(*waE2E.DeviceSentMessage)(nil).ProtoReflect().Descriptor().FullName():
		return true
	}
	return false
}

// carriesNoContent reports the fields that accompany any message: keys of the
// encryption, which must never reach a consumer, and the context.
func carriesNoContent(f protoreflect.Name) bool {
	switch f {
	case "senderKeyDistributionMessage", "fastRatchetKeySenderKeyDistributionMessage", "messageContextInfo",
		"groupRootKeyShare", "rootSecretDistributeMessage":
		return true
	}
	return false
}

// lowerCamel converts a field name of the schema to lower camel case, whatever capitals
// it has: URL url, JPEGThumbnail jpegThumbnail, remoteJID remoteJid, fileSHA256
// fileSha256, mentionedJIDs mentionedJids.
func lowerCamel(name string) string {
	var b strings.Builder
	name = strings.ReplaceAll(name, "CDNURL", "CdnURL") // two words without a separator
	for i, word := range words(name) {
		word = strings.ToLower(word)
		if i > 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}

// words splits a name at underscores, before a capital after a small letter or digit,
// and before the last capital of a run that a small letter follows ("JPEGThumbnail"),
// unless that letter is a plural s.
func words(name string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, name[start:end])
		}
		start = end
	}
	for i := range len(name) {
		if name[i] == '_' {
			cut(i)
			start = i + 1
			continue
		}
		if i > start && capital(name, i) && (!capital(name, i-1) || startsWord(name, i)) {
			cut(i)
		}
	}
	cut(len(name))
	return out
}

func capital(s string, i int) bool { return i < len(s) && unicode.IsUpper(rune(s[i])) }

func startsWord(s string, i int) bool {
	small := func(i int) bool { return i < len(s) && unicode.IsLower(rune(s[i])) }
	plural := i+1 < len(s) && s[i+1] == 's' && !small(i+2)
	return small(i+1) && !plural
}

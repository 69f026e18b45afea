package translate

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	wabinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

// FuzzTranslator fills an event type of the library, chosen by the first byte, from the
// other bytes: missing parts, empty addresses, odd times, invalid UTF-8. No event may
// cause a panic or break its schema.
func FuzzTranslator(f *testing.F) {
	kinds := fuzzedKinds()
	for n := range kinds {
		f.Add([]byte{byte(n)})
		f.Add(append([]byte{byte(n)}, strings.Repeat("ABCDEFGH", 16)...))
		f.Add(append([]byte{byte(n)}, strings.Repeat("\x01\x02\xff\x03\x80", 40)...))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := &filler{raw: raw}
		evt := reflect.New(kinds[int(in.byte())%len(kinds)])
		in.fill(evt.Elem(), 0)
		facts, _ := testTranslator().Facts(evt.Interface())
		if f, ok := Refusal(evt.Interface()); ok {
			facts = append(facts, f)
		}
		switch evt := evt.Interface().(type) {
		case *events.Receipt:
			testTranslator().Receipt(evt)
		case *events.Message:
			if f, ok := testTranslator().NewsletterMeta(evt); ok {
				facts = append(facts, f)
			}
		}
		for _, fact := range facts {
			checkFact(t, fact)
		}
	})
}

// fuzzedKinds are the event types of the Translator, each once.
func fuzzedKinds() (kinds []reflect.Type) {
	for _, c := range append(translations(), refusals()...) {
		if kind := reflect.TypeOf(c.evt).Elem(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return append(kinds, reflect.TypeFor[events.Receipt](), reflect.TypeFor[events.Message]())
}

func refusals() []struct {
	name string
	evt  any
} {
	return []struct {
		name string
		evt  any
	}{
		{"LoggedOut", &events.LoggedOut{}},
		{"ConnectFailure", &events.ConnectFailure{}},
		{"StreamError", &events.StreamError{}},
		{"CATRefreshError", &events.CATRefreshError{}},
		{"ClientOutdated", &events.ClientOutdated{}},
		{"TemporaryBan", &events.TemporaryBan{}},
	}
}

// filler fills values from bytes, and with zeros when they run out.
type filler struct{ raw []byte }

func (f *filler) byte() byte {
	if len(f.raw) == 0 {
		return 0
	}
	b := f.raw[0]
	f.raw = f.raw[1:]
	return b
}

func (f *filler) number() int64 {
	var b [8]byte
	for i := range b {
		b[i] = f.byte()
	}
	return int64(binary.LittleEndian.Uint64(b[:]))
}

func (f *filler) text() string {
	n := min(int(f.byte()), len(f.raw))
	s := string(f.raw[:n])
	f.raw = f.raw[n:]
	return s
}

func (f *filler) jid() types.JID {
	servers := []string{
		"", types.DefaultUserServer, types.HiddenUserServer, types.GroupServer, types.NewsletterServer, types.BroadcastServer, f.text(),
	}
	return types.JID{User: f.text(), Server: servers[int(f.byte())%len(servers)], Device: uint16(f.byte()), RawAgent: f.byte()}
}

func (f *filler) fill(v reflect.Value, depth int) {
	if depth > 6 || !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(f.number(), f.number())))
		return
	case types.JID:
		v.Set(reflect.ValueOf(f.jid()))
		return
	case wabinary.Attrs:
		v.Set(reflect.ValueOf(wabinary.Attrs{f.text(): f.text(), "from": f.jid(), "t": f.text(), "latency": f.text()}))
		return
	}
	f.fillKind(v, depth)
}

func (f *filler) fillKind(v reflect.Value, depth int) {
	switch v.Kind() { //nolint:exhaustive // the library's events have no others
	case reflect.Bool:
		v.SetBool(f.byte()&1 == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.number())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.number()))
	case reflect.String:
		v.SetString(f.text())
	case reflect.Pointer:
		if f.byte()&3 != 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		n := int(f.byte()) % 4
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		f.fillMap(v, depth)
	case reflect.Struct:
		for _, field := range v.Fields() {
			f.fill(field, depth+1)
		}
	case reflect.Interface:
		f.fillInterface(v)
	}
}

func (f *filler) fillMap(v reflect.Value, depth int) {
	v.Set(reflect.MakeMap(v.Type()))
	key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	f.fill(key, depth+1)
	f.fill(value, depth+1)
	v.SetMapIndex(key, value)
}

func (f *filler) fillInterface(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[error]():
		if f.byte()&1 == 1 {
			v.Set(reflect.ValueOf(errors.New(f.text())))
		}
	case v.NumMethod() == 0 && f.byte()&1 == 1:
		v.Set(reflect.ValueOf([]byte(f.text())))
	}
}

package strict

import "errors"

// Object is a JSON object that is kept unchanged.
type Object []byte

// UnmarshalJSON implements json.Unmarshaler. Anything but an object fails.
func (o *Object) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '{' {
		return errors.New("it must be an object")
	}
	*o = append((*o)[:0], raw...)
	return nil
}

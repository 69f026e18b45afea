package event

// RuleError is an invalid value.
type RuleError struct {
	Field string // as in the request or file, for example "quietHours.from"
	Rule  string // the rule that must hold
	Kind  error  // identifies the kind of value
}

// Error names the field and the rule.
func (e *RuleError) Error() string { return e.Field + " " + e.Rule }

// Unwrap returns Kind.
func (e *RuleError) Unwrap() error { return e.Kind }

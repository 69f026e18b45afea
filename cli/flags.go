package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postern/event"
	"postern/internal/nearest"
)

// twoDashes gives long flags with one dash, as in -config FILE, a
// second one. Values of flags stay as they are.
func twoDashes(args []string, flags *pflag.FlagSet) []string {
	args = slices.Clone(args)
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if len(args[i]) < 3 || args[i][0] != '-' {
			continue
		}
		if args[i][1] != '-' {
			args[i] = "-" + args[i]
		}
		if f := flags.Lookup(args[i][2:]); f != nil && f.NoOptDefVal == "" {
			i++ // its value
		}
	}
	return args
}

// flagError describes an error in the flags of c, with the flag, its
// rule, and at most a hundred characters of the value.
func flagError(err error, c *cobra.Command) error {
	var (
		unknown *pflag.NotExistError
		lone    *pflag.ValueRequiredError
		refused *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return usageError{fmt.Errorf("unknown flag: -%s", event.Cut(name))}
		}
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near, ok := nearest.Meant(name, known); ok {
			return usageError{fmt.Errorf("unknown flag: --%s; did you mean --%s?", event.Cut(name), near)}
		}
		return usageError{fmt.Errorf("unknown flag: --%s", event.Cut(name))}
	case errors.As(err, &lone):
		return usageError{fmt.Errorf("flag needs an argument: --%s", lone.GetFlag().Name)}
	case errors.As(err, &refused):
		f := refused.GetFlag()
		return usageError{fmt.Errorf("--%s must be %s, not %.100q", f.Name, flagRules[f.Value.Type()], refused.GetValue())}
	}
	return usageError{errors.New(event.Cut(err.Error()))}
}

// flagRules has the rule for the values of each type of flag.
var flagRules = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number",
	"duration": "a duration with its unit, such as 90m or 24h",
}

// operands allows at most n operands.
func operands(most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= most {
			return nil
		}
		return fmt.Errorf("unexpected argument %.100q", args[most])
	}
}

// fileNeeded requires one operand, a FILE, and explains it when it is missing.
func fileNeeded(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "" {
			return errors.New("FILE is missing: " + what)
		}
		return operands(1)(c, args)
	}
}

// suggestion suggests the nearest name, if one is near.
func suggestion(word string, names []string) string {
	if near, ok := nearest.Meant(word, names); ok {
		return " did you mean " + near + "?"
	}
	return ""
}

func names(all []*cobra.Command) []string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name()
	}
	return names
}

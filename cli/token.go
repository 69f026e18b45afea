package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"postern/config"
	"postern/httpapi/tokens"
)

// tokenCommand is `postern token user`: it prints a user token.
func tokenCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "token user [--id UUID] [--ttl 24h] [--config FILE]",
		Short: "issue a user token",
		Long: "The token is printed alone, for use in a shell. It is signed with authentication.jwt_secret, so it needs\n" +
			"the configuration of the server that is to accept it.",
		Example: "postern token user\nTOKEN=$(postern token user --id 0196f0a0-0000-7000-8000-000000000001 --ttl 1h)",
		// The flags belong to a subcommand: report the missing subcommand, not the flags.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args:               otherKind,
	}
	c.AddCommand(userTokenCommand())
	return c
}

func userTokenCommand() *cobra.Command {
	var id, path string
	var ttl time.Duration
	c := &cobra.Command{
		Use:   "user [--id UUID] [--ttl 24h] [--config FILE]",
		Short: "issue a user token",
		RunE: func(c *cobra.Command, _ []string) error {
			return issueToken(c.Context(), id, ttl, path, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&id, "id", "", "the user's `UUID`; empty makes a new one")
	c.Flags().DurationVar(&ttl, "ttl", 24*time.Hour, "`TIME` until the token expires")
	configFlag(c, &path)
	noFiles(c, "id", "ttl")
	return c
}

// issueToken prints a token of the user, or of a new one without id.
func issueToken(ctx context.Context, id string, ttl time.Duration, path string, out io.Writer) (err error) {
	user := uuid.New()
	if id != "" {
		if user, err = uuid.Parse(id); err != nil || len(id) != len(user.String()) {
			return usageError{errors.New("--id must be a UUID in its form of 36 characters")}
		}
	}
	if ttl < time.Second || ttl > maxUserTTL {
		return usageError{fmt.Errorf("--ttl must be from 1s to %v", maxUserTTL)}
	}
	cfg, err := prepare(ctx, path)
	if err != nil {
		return err
	}
	secret, err := config.JWTSecret(cfg)
	if err != nil {
		return err
	}
	t, err := tokens.ForUser([]byte(secret), user, ttl, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintln(out, t)
	return nil
}

// otherKind returns the error of a line that does not begin with a kind of token.
func otherKind(_ *cobra.Command, args []string) error {
	if len(args) == 0 || args[0] == "user" {
		return errors.New("the kind of token is missing: user")
	}
	return fmt.Errorf("unknown kind of token %.100q; use user, an instance's token comes from PUT /instance/{i}/token", args[0])
}

// maxUserTTL is the longest life of a user token, as the API has it.
const maxUserTTL = 365 * 24 * time.Hour

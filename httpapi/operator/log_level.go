package operator

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"postern/event"
	"postern/httpapi/rest"
	"postern/internal/loglevel"
)

// CodeLogLevel says that the level or its duration is not one that can be set.
const CodeLogLevel = "INVALID_LOG_LEVEL"

// How long a changed log level lasts, in minutes.
const (
	logMinutes    = 15 // unless the call says
	maxLogMinutes = 1440
)

// logChange requests another log level.
type logChange struct {
	Level   string `json:"level" doc:"The new log level." example:"debug" rules:"enum=debug|info|warn|error"`
	Minutes *int   `json:"minutes"` // null: 15
}

// LogState is the level of the log.
type LogState struct {
	Level string      `json:"level" doc:"The current log level." example:"debug"`
	Usual string      `json:"usual" doc:"The configured level, to which it reverts." example:"info"`
	Until *event.Time `json:"until" doc:"When it reverts; null when it is the configured one." example:"2026-03-04T05:06:07.000Z"`
}

// logLevels are the names of the configuration.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func showLevel(s loglevel.State) LogState {
	return LogState{Level: strings.ToLower(s.Is.String()), Usual: strings.ToLower(s.Usual.String()), Until: event.AtPtr(s.Until)}
}

func (a *API) showLog(c *rest.Call) error {
	return c.Response.JSON(http.StatusOK, showLevel(a.LogLevel.State()))
}

// putLog changes the level for a while.
func (a *API) putLog(c *rest.Call) error {
	var in logChange
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	level, known := logLevels[in.Level]
	minutes := logMinutes
	if in.Minutes != nil {
		minutes = *in.Minutes
	}
	switch {
	case !known:
		return rest.Refuse(http.StatusUnprocessableEntity, CodeLogLevel, "level must be debug, info, warn or error")
	case minutes < 1 || minutes > maxLogMinutes:
		return rest.Refuse(http.StatusUnprocessableEntity, CodeLogLevel, fmt.Sprintf("minutes must be a whole number from 1 to %d", maxLogMinutes))
	}
	is := showLevel(a.LogLevel.Change(level, time.Duration(minutes)*time.Minute))
	// Logged at the new level, so that the line appears and explains those that follow.
	c.Log().Log(context.WithoutCancel(c.Request.Context()), max(level, slog.LevelInfo), "the log level was changed for a while", "level", is.Level, "usual", is.Usual, "until", is.Until)
	return c.Response.JSON(http.StatusOK, is)
}

// showLogLines answers with the last lines of the log, unchanged.
func (a *API) showLogLines(c *rest.Call) error {
	c.Response.Header().Set("Content-Type", mediaLines)
	_, err := c.Response.Write(a.LogLines.Text())
	return err
}

const mediaLines = "text/plain; charset=utf-8"

// resetLog restores the level of the configuration.
func (a *API) resetLog(c *rest.Call) error {
	return c.Response.JSON(http.StatusOK, showLevel(a.LogLevel.Reset()))
}

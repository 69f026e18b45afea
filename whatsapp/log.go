package whatsapp

import (
	"context"
	"fmt"
	"log/slog"

	waLog "go.mau.fi/whatsmeow/util/log"
)

const maxDetail = 300 // bytes of a library message kept in the log

// libraryLog writes whatsmeow's log to slog. Its errors become warnings: problems that
// an operator must act on are reported as facts. Debug messages contain pairing secrets
// and whole stanzas, so only their format is logged.
type libraryLog struct {
	log    *slog.Logger
	module string
}

func (l libraryLog) Errorf(format string, args ...any) { l.write(slog.LevelWarn, format, args) }
func (l libraryLog) Warnf(format string, args ...any)  { l.write(slog.LevelInfo, format, args) }
func (l libraryLog) Infof(format string, args ...any)  { l.write(slog.LevelDebug, format, args) }

func (l libraryLog) Debugf(format string, _ ...any) {
	l.log.Debug("whatsmeow", "module", l.module, "detail", format)
}

func (l libraryLog) Sub(module string) waLog.Logger {
	if l.module != "" {
		module = l.module + "/" + module
	}
	return libraryLog{l.log, module}
}

func (l libraryLog) write(level slog.Level, format string, args []any) {
	if !l.log.Enabled(context.Background(), level) {
		return
	}
	detail := fmt.Sprintf(format, args...)
	l.log.Log(context.Background(), level, "whatsmeow", "module", l.module, "detail", detail[:min(len(detail), maxDetail)])
}

// signalLog keeps libsignal off standard output. It complains about harmless
// redeliveries, so all its messages are debug messages.
type signalLog struct{ log *slog.Logger }

func (l signalLog) Debug(caller, message string)   { l.write(caller, message) }
func (l signalLog) Info(caller, message string)    { l.write(caller, message) }
func (l signalLog) Warning(caller, message string) { l.write(caller, message) }
func (l signalLog) Error(caller, message string)   { l.write(caller, message) }
func (l signalLog) Configure(string)               {}

func (l signalLog) write(caller, message string) {
	if !l.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	l.log.Debug("libsignal", "caller", caller, "detail", message[:min(len(message), maxDetail)])
}

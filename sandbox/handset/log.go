package handset

import (
	"log/slog"

	"go.mau.fi/libsignal/logger"
)

// SetLogger sends the Signal library's log to l at level Debug instead of standard
// output. The setting is process-wide; call it once, before the first Handset is used.
func SetLogger(l *slog.Logger) {
	var bridge logger.Loggable = signalLog{l}
	logger.Setup(&bridge)
}

type signalLog struct{ log *slog.Logger }

func (s signalLog) Debug(string, string) {}

func (s signalLog) Info(string, string) {}

func (s signalLog) Warning(caller, message string) { s.write("warning", caller, message) }

func (s signalLog) Error(caller, message string) { s.write("error", caller, message) }

func (s signalLog) Configure(string) {}

func (s signalLog) write(level, caller, message string) {
	s.log.Debug("signal library", "signal_level", level, "caller", caller, "error", message)
}

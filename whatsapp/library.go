package whatsapp

import (
	"log/slog"
	"sync"
	"time"

	signallog "go.mau.fi/libsignal/logger"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCompanionReg"
	wastore "go.mau.fi/whatsmeow/store"
)

// libraryLock guards whatsmeow's package variables against concurrent calls of New. The
// library reads them without a lock, so they are written only if the value differs.
var libraryLock sync.Mutex

func setProcessWide(cfg Config, platform waCompanionReg.DeviceProps_PlatformType, log *slog.Logger) {
	libraryLock.Lock()
	defer libraryLock.Unlock()
	spread := max(cfg.KeepAliveInterval/5, time.Millisecond)
	set(&whatsmeow.KeepAliveIntervalMin, cfg.KeepAliveInterval-spread)
	set(&whatsmeow.KeepAliveIntervalMax, cfg.KeepAliveInterval+spread)
	set(&whatsmeow.KeepAliveResponseDeadline, cfg.KeepAliveTimeout)
	if cfg.Endpoint != nil {
		set(&whatsmeow.WACertPubKey, cfg.Endpoint.RootKey)
	}
	if wastore.DeviceProps.GetOs() != cfg.ClientName {
		wastore.DeviceProps.Os = new(cfg.ClientName)
	}
	if wastore.DeviceProps.GetPlatformType() != platform {
		wastore.DeviceProps.PlatformType = platform.Enum()
	}
	if signallog.Logger == nil {
		var target signallog.Loggable = signalLog{log}
		signallog.Setup(&target)
	}
}

func set[T comparable](variable *T, value T) {
	if *variable != value {
		*variable = value
	}
}

// Quiet stops the Signal library from writing about unreadable records to standard
// output. It is for programs without a Connector.
func Quiet() {
	libraryLock.Lock()
	defer libraryLock.Unlock()
	if signallog.Logger == nil {
		var target signallog.Loggable = signalLog{slog.New(slog.DiscardHandler)}
		signallog.Setup(&target)
	}
}

package app

import (
	"strings"
	"testing"

	"postern/config"
)

func TestSettingsThatNodesCompare(t *testing.T) {
	cfg := config.Default()
	cfg.Authentication.JWTSecret = strings.Repeat("0123456789abcdef", 2)
	digests, agree := digestsOf(cfg)
	if len(agree) != 2 {
		t.Errorf("nodes must agree on %v", agree)
	}
	for name, compared := range map[string]bool{
		"server.listen": false, "store.path": false, "log.level": false, "metrics.listen": false, "backup.dir": false, "cluster.node": false,
		"webhook.timeout": true, "message.batch.max_delay_ms": true, "backup.every": true,
		"authentication.jwt_secret": true, "authentication.global_auth_token": false, // made by the owner
	} {
		if _, is := digests[name]; is != compared {
			t.Errorf("%s is compared: %v", name, is)
		}
	}
	for name, digest := range digests {
		if strings.Contains(digest, cfg.Authentication.JWTSecret) {
			t.Errorf("%s shows the secret", name)
		}
	}
}

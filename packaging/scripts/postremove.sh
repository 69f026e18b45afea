#!/bin/sh
# Runs after the files of the package are removed. dpkg calls it with "remove", and with "purge"
# when the configuration is to go too, rpm with 0 when it is the last version.
#
# The data is never deleted here: with it would go every account's pairing. Nor is the
# user that it belongs to.
set -e

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi

if [ "$1" = purge ]; then
	rm -rf /etc/postern/secrets
	rmdir --ignore-fail-on-non-empty /etc/postern 2>/dev/null || true
	if [ -e /var/lib/private/postern ] || [ -e /var/lib/postern ]; then
		echo "The accounts and messages of Postern stay in /var/lib/postern; delete that and /var/lib/private/postern when they are no longer needed."
	fi
fi

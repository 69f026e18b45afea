#!/bin/sh
# Runs after the files of the package are installed. Called with "configure" and the version
# before, if any, by dpkg, with the number of installed versions by rpm.
set -e

case "$1" in
configure) if [ -n "$2" ]; then first=no; else first=yes; fi ;;
1) first=yes ;;
[0-9]*) first=no ;;
*) exit 0 ;; # dpkg takes back what failed
esac

# The two secrets, which only root reads; systemd passes them to the service.
secrets=/etc/postern/secrets
for name in api-key jwt-secret; do
	if [ ! -s "$secrets/$name" ]; then
		(umask 077 && od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n' >"$secrets/$name.new")
		mv "$secrets/$name.new" "$secrets/$name"
	fi
done

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# A running service continues with the new program; it ends in order and migrates its file.
	systemctl try-restart postern.service
fi

if [ "$first" = yes ]; then
	echo "Postern is installed and does not run yet: look at /etc/postern/config.toml, then"
	echo "  systemctl enable --now postern"
	echo "The API key is in $secrets/api-key."
fi

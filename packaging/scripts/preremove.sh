#!/bin/sh
# Runs before the files of the package are removed. Called with "remove" by dpkg, with 0 by rpm; with
# something else for an upgrade, in which the service is restarted at the end.
set -e

case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl --no-reload disable --now postern.socket postern.service
	fi
	;;
esac

#!/bin/sh
# Runs before the files of the package are installed: creates the user of the files and the
# service. Called with "install" or "upgrade" by dpkg, with the number of versions that
# will be installed by rpm; it does the same each time.
set -e

getent group postern >/dev/null || groupadd --system postern
getent passwd postern >/dev/null ||
	useradd --system --gid postern --home-dir /var/lib/postern --no-create-home --shell /usr/sbin/nologin --comment "Postern" postern

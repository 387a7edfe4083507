# SPDX-License-Identifier: LGPL-2.1-or-later
{ lib, stdenv, autoreconfHook, pkg-config, curl, libevent, libseccomp, src ? ../../.. }:

stdenv.mkDerivation {
  pname = "nsrun";
  version = "1.0.0-rc1";
  inherit src;
  nativeBuildInputs = [ autoreconfHook pkg-config ];
  buildInputs = [ curl libevent libseccomp ];
  autoreconfPhase = "sh scripts/autogen";
  configureFlags = [ "--disable-static" "--disable-static-program" "--sysconfdir=/etc" ];
  # AppArmor's profiles are found in the package itself.
  installFlags = [ "apparmordir=${placeholder "out"}/etc/apparmor.d" ];
  enableParallelBuilding = true;
  outputs = [ "out" "dev" "man" ];
  meta = {
    description = "Run a command that isn't trusted in a sandbox";
    license = lib.licenses.lgpl21Plus;
    platforms = lib.platforms.linux;
    mainProgram = "nsrun";
  };
}

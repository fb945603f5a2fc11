import { execFileSync } from "node:child_process";

/** Returns whether a program is installed, by letting it print its version. */
export function canRun(program: string, versionOption = "--version"): boolean {
  try {
    execFileSync(program, [versionOption], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Installs a Debian package. Returns false if this process is not root, or if the installation fails. */
export function installPackage(name: string): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    execFileSync("apt-get", ["install", "-y", "--no-install-recommends", name], {
      stdio: "ignore",
      env,
      timeout: 240_000,
    });
    return true;
  } catch {
    return false;
  }
}

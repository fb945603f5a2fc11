import { execFileSync } from "node:child_process";

/** Whether there is such a program. */
export function canRun(program: string): boolean {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Installs a package of Debian, if that is possible: only root can without being asked for a password. */
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

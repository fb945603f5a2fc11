const UNRELEASED = /^## Unreleased\n+(?!## )(?=\S)/m;

/**
 * The changelog of a release: what was under `Unreleased` is under the version and its day. Throws when nothing is.
 *
 * @param date the day of the release, as in `2026-01-31`
 */
export function released(changelog: string, version: string, date: string): string {
  if (!UNRELEASED.test(changelog)) {
    throw new Error('CHANGELOG.md has nothing under "## Unreleased": say there what is new.');
  }
  return changelog.replace(UNRELEASED, `## ${version} (${date})\n\n`);
}

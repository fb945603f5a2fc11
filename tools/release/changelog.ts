const UNRELEASED = /^## Unreleased\n+(?!## )(?=\S)/m;

/**
 * Returns the changelog of a release. Moves the content of `Unreleased` under the version and its day. Throws if it is empty.
 *
 * @param date the day of the release, as in `2026-01-31`
 */
export function released(changelog: string, version: string, date: string): string {
  if (!UNRELEASED.test(changelog)) {
    throw new Error('CHANGELOG.md has nothing under "## Unreleased": add what is new there.');
  }
  return changelog.replace(UNRELEASED, `## ${version} (${date})\n\n`);
}

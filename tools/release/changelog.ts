const UNRELEASED = /^## Unreleased\n+(?!## )(?=\S)/m;

/**
 * The changelog of a release: moves the content of `Unreleased` under the version and its day. Throws if there is none.
 *
 * @param date the day of the release, as in `2026-01-31`
 */
export function released(changelog: string, version: string, date: string): string {
  if (!UNRELEASED.test(changelog)) {
    throw new Error('CHANGELOG.md has nothing under "## Unreleased": add what is new there.');
  }
  return changelog.replace(UNRELEASED, `## ${version} (${date})\n\n`);
}

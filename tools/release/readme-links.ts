/**
 * Returns the README with absolute links, because the registry shows it without the other files.
 *
 * @param repository owner and name on github.com, as in `acme/stocklot`
 * @param tag the tag of the release, as in `v1.2.3`
 */
export function withAbsoluteLinks(readme: string, repository: string, tag: string): string {
  const pages = `https://github.com/${repository}/blob/${tag}`;
  const images = `https://raw.githubusercontent.com/${repository}/${tag}`;
  return readme.replace(
    /(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)/g,
    (_, image: string, text: string, path: string) => `${image}[${text}](${image ? images : pages}/${path})`,
  );
}

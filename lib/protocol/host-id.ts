/** The most characters of an id of the host. */
export const maxHostId = 255

/**
 * Whether this can be an id of the host that comes back from a form. A form would not return other characters unchanged, and
 * MariaDB ignores trailing spaces when it compares.
 */
export const isHostId = (id: unknown): id is string =>
  typeof id === 'string' &&
  id !== '' &&
  id.length <= maxHostId &&
  // Nearly all ids are such, and a guard looks at up to 200.
  (/^[!-~]+$/.test(id) || (!/[\p{Cc}\p{Cs}\ufffd]/u.test(id) && id === id.trim()))

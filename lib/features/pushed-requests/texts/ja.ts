export const ja = {
  'error.pushed-expired.title': 'ログインの有効期限が切れました',
  'error.pushed-expired.what': '安全のため、ログイン用のリンクは短い時間内に一度だけ使用できます。',
  'error.pushed-expired.link': '最初からやり直す',
  'error.pushed-finished.title': 'このリンクはすでに使用されています',
  'error.pushed-finished.what': '安全のため、ログイン用のリンクは一度だけ使用できます。',
  'error.pushed-finished.link': '{client} に進む',
}

export const ja = {
  'login.passkey': 'パスキーでログイン',
  'login.passkey.none':
    'パスキーは使用されませんでした。もう一度お試しいただくか、パスワードをご使用ください。',
  'login.passkey.needed':
    '続けるには、パスキーをご使用ください。このページでは、パスワードだけでは続行できません。',
  'login.passkey.failed.title': 'そのパスキーは使用できませんでした',
  'login.passkey.failed.text': 'もう一度お試しいただくか、パスワードをご使用ください。',
  'passkeys.title': 'パスキー',
  'passkeys.text': 'パスワードの代わりに、指紋、顔、画面ロックで {product} にログインできます。',
  'passkeys.empty': 'パスキーはまだありません。',
  'passkeys.unnamed': '名前のないパスキー',
  'passkeys.created': '追加日：{date}',
  'passkeys.change': '変更',
  'passkeys.add': 'パスキーを追加',
  'passkeys.none': 'パスキーは追加されませんでした。この端末にはすでにパスキーがある可能性があります。',
  'passkeys.script':
    'パスキーを追加するには、パスキーに対応し、スクリプトを許可しているブラウザーをご使用ください。',
  'passkeys.full': 'パスキーの数が上限に達しています。追加するには、先に1つ削除してください。',
  'passkeys.added': 'パスキーを追加しました。今後はこのパスキーでログインできます。',
  'passkeys.not-added': 'パスキーを追加できませんでした。もう一度お試しください。',
  'passkeys.renamed': '名前を変更しました。',
  'passkeys.removed': 'パスキーを削除しました。このパスキーではログインできなくなりました。',
  'passkey.title': '「{passkey}」を変更',
  'passkey.new': 'パスキーに名前を付ける',
  'passkey.later': '後で',
  'passkey.name': 'パスキーの名前',
  'passkey.rename': '名前を保存',
  'passkey.remove.text':
    'このパスキーを削除すると、これを使ってログインすることはできなくなります。端末からも削除してください。',
  'passkey.remove': '削除',
  'passkey.cancel': 'キャンセル',
}

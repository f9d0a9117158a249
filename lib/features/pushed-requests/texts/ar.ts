export const ar = {
  'error.pushed-expired.title': 'انتهت صلاحية عملية الدخول هذه',
  'error.pushed-expired.what': 'حفاظًا على أمانك، يعمل كل رابط لتسجيل الدخول مرة واحدة فقط ولمدة قصيرة.',
  'error.pushed-expired.link': 'البدء من جديد',
  'error.pushed-finished.title': 'سبق استخدام هذا الرابط',
  'error.pushed-finished.what': 'حفاظًا على أمانك، يعمل كل رابط لتسجيل الدخول مرة واحدة فقط.',
  'error.pushed-finished.link': 'المتابعة إلى {client}',
}

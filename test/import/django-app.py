"""A Django project with django-oauth-toolkit: runs the migrations of both in the database of its argument, registers
applications and issues tokens with their models, and prints what the clients know as JSON."""

import json
import sys
from datetime import timedelta
from urllib.parse import urlparse

import django
from django.conf import settings

url = urlparse(sys.argv[1])
engine = "postgresql" if url.scheme == "postgres" else "mysql"
database = {
    "ENGINE": f"django.db.backends.{engine}",
    "NAME": url.path[1:],
    "USER": url.username,
    "PASSWORD": url.password or "",
    "HOST": url.hostname,
    "PORT": url.port,
}
settings.configure(
    DATABASES={"default": database},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    USE_TZ=True,
    SECRET_KEY="only for this test",
)
django.setup()

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, RefreshToken

call_command("migrate", verbosity=0)

ada = User.objects.create_user("ada", password="correct horse battery staple")
answer = {"ada": {"id": str(ada.pk), "password": ada.password}}


def register(name, redirect_uris, grant="authorization-code", client_type="confidential", **more):
    application = Application(
        name=name,
        redirect_uris=redirect_uris,
        client_type=client_type,
        authorization_grant_type=grant,
        **more,
    )
    secret = application.client_secret
    # As its versions from 2.0 on store a secret.
    if name == "hashed":
        application.client_secret = make_password(secret)
    application.save()
    answer[name] = {"client_id": application.client_id, "client_secret": secret}
    return application


def issue(application, value, **more):
    access_token = AccessToken.objects.create(
        user=ada,
        application=application,
        token=f"at-{value}",
        expires=timezone.now() + timedelta(hours=1),
        scope="read write",
    )
    RefreshToken.objects.create(
        user=ada, application=application, token=value, access_token=access_token, **more
    )
    answer[application.name]["refresh_token"] = value


hashed = register("hashed", "https://hashed.example.com/cb https://hashed.example.com/cb2")
issue(hashed, "0gXc8Rq2LkVbT4nWz7YsJ1mHd5PfAe")
plain = register("plain", "https://plain.example.com/cb", skip_authorization=True)
issue(plain, "9yUe3Kp6MvRcB1xQa8ZtH4nGf7DsLw", revoked=timezone.now())
register("worker", "", grant="client-credentials")
register("password", "https://password.example.com/cb", grant="password")
register("wildcard", "https://*.example.com/cb")
register("phone", "com.example.phone:/cb", client_type="public", algorithm="HS256")
print(json.dumps(answer))

"""What functions of Python's libraries do, by their qualified names. Data only."""

from verdikt.effects.arguments import word_set

SHELL_FUNCTIONS = word_set(
    "os.system os.popen subprocess.getoutput subprocess.getstatusoutput commands.getoutput popen2.popen2 "
    "asyncio.create_subprocess_shell Execute"
)
SPAWN_FUNCTIONS = word_set(
    "subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen "
    "asyncio.create_subprocess_exec pty.spawn os.execv os.execve os.execvp os.execvpe os.execl os.execlp os.execle "
    "os.execlpe os.spawnl os.spawnlp os.spawnv os.spawnvp os.posix_spawn os.posix_spawnp sh.bash "
    "distutils.spawn.spawn"
)
PATH_FUNCTIONS: dict[str, tuple[tuple[str, int], ...]] = {
    "os.remove": (("fs.delete", 0),),
    "os.unlink": (("fs.delete", 0),),
    "os.rmdir": (("fs.delete", 0),),
    "os.removedirs": (("fs.delete", 0),),
    "shutil.rmtree": (("fs.delete.tree", 0),),
    "Delete": (("fs.delete.tree", 0),),  # of SCons, whose files import nothing
    "distutils.dir_util.remove_tree": (("fs.delete.tree", 0),),
    "os.rename": (("fs.move", 0), ("fs.overwrite", 1)),
    "os.replace": (("fs.move", 0), ("fs.overwrite", 1)),
    "shutil.move": (("fs.move", 0), ("fs.overwrite", 1)),
    "shutil.copy": (("fs.read", 0), ("fs.overwrite", 1)),
    "shutil.copy2": (("fs.read", 0), ("fs.overwrite", 1)),
    "shutil.copyfile": (("fs.read", 0), ("fs.overwrite", 1)),
    "shutil.copytree": (("fs.read", 0), ("fs.overwrite", 1)),
    "os.chmod": (("fs.chmod", 0),),
    "os.mkdir": (("fs.write", 0),),
    "os.makedirs": (("fs.write", 0),),
    "os.chown": (("fs.chown", 0),),
    "os.symlink": (("fs.link", 1),),
    "os.link": (("fs.link", 1),),
    "os.truncate": (("fs.truncate", 0),),
    "shutil.make_archive": (("fs.read", 2),),
}
"""Function → its effects, each with the index of the argument that it falls on."""
FETCH_FUNCTIONS = word_set(
    "urllib.request.urlopen urllib.request.urlretrieve urllib2.urlopen requests.get requests.head httpx.get "
    "httpx.head requests.options aiohttp.ClientSession urllib.urlopen urllib3.PoolManager urllib.request.Request "
    "webbrowser.open webbrowser.open_new webbrowser.open_new_tab"
)
SEND_FUNCTIONS = word_set(
    "requests.post requests.put requests.patch requests.delete requests.request httpx.post httpx.put httpx.patch "
    "httpx.delete"
)
CONNECT_FUNCTIONS = word_set(
    "socket.create_connection http.client.HTTPConnection http.client.HTTPSConnection ftplib.FTP ftplib.FTP_TLS "
    "smtplib.SMTP smtplib.SMTP_SSL telnetlib.Telnet imaplib.IMAP4 imaplib.IMAP4_SSL poplib.POP3 poplib.POP3_SSL "
    "nntplib.NNTP xmlrpc.client.ServerProxy asyncio.open_connection websocket.create_connection websockets.connect "
    "websockets.sync.client.connect paramiko.Transport pysftp.Connection fabric.Connection"
)
"""Functions that connect to the host that their first argument names, alone, in a URL or with a port."""
SEND_METHODS = word_set("send sendall sendto sendmail storbinary storlines write request put publish send_message")
"""Methods of a connection that send their arguments."""
FILE_RUNNERS = {
    "runpy.run_path": 0,
    "execfile": 0,
    "importlib.util.spec_from_file_location": 1,
    "importlib.machinery.SourceFileLoader": 1,
    "imp.load_source": 1,
}
"""Functions that run a file of Python, each with the index of the argument that names it."""
CODE_FUNCTIONS = word_set(
    "timeit.timeit timeit.repeat timeit.Timer cProfile.run profile.run pdb.run pdb.runeval bdb.run trace.run"
)
"""Functions that run the program text in their arguments."""
UNPICKLE_FUNCTIONS = word_set("pickle.loads marshal.loads dill.loads cloudpickle.loads")
"""Functions that run code while they unpack their argument."""
YAML_LOADERS = word_set("yaml.load yaml.unsafe_load yaml.unsafe_load_all yaml.load_all yaml.full_load")
"""Functions that call what the tags of a YAML file name."""
# `getattr(os, name)` with an unknown name may call anything of these modules.
SENSITIVE_MODULES = frozenset(
    ("os", "subprocess", "shutil", "builtins", "__builtins__", "sys", "ctypes", "socket", "pty")
)

FIRST_ARGUMENT_NAMES = ("args", "cmd", "command", "url", "path", "file")
# By name alone: the module that a method belongs to is rarely known.
FILE_READERS = word_set(
    "read read_file read_csv read_table read_json getline getlines input open add write load from_private_key_file "
    "from_file upload_file upload put_object storbinary sendfile send_file memmap fromfile loadtxt genfromtxt "
    "open_code connect put ZipFile GzipFile run_path read_configuration"
)
"""Functions that read the file they are given the name of, in whichever module."""
PATH_TESTS = word_set(
    "exists lexists isfile isdir islink is_file is_dir stat lstat access print pprint append extend insert "
    "add_argument add_option format join startswith endswith replace split rsplit partition index count find "
    "match search fullmatch compile sub Path PurePath PosixPath expanduser abspath realpath dirname basename "
    "normpath relpath relative_to get setdefault debug info warning error critical exception log str repr len "
    "isinstance fnmatch assertEqual assertIn environ.setdefault setenv ValueError RuntimeError echo write"
)
"""Functions that look at the name of a file, and not into it."""
DROP_METHODS = word_set("drop_all drop_table drop_database drop_collection flushall flushdb")
CLOUD_DELETE_METHODS = word_set(
    "delete_bucket terminate_instances delete_table delete_db_instance delete_object delete_objects delete_stack"
)
CLOUD_DELETE_PREFIXES = ("delete_", "terminate_", "purge_", "deregister_", "schedule_key_deletion")
TASK_MODULES = word_set("invoke fabric nox duty poethepoet doit conan conans")
"""Libraries in whose files a task runs a command line by a method of what it is given: `session.run("rm", …)`."""
TASK_METHODS = (".run", ".sudo", ".local", ".run_always", ".run_install")

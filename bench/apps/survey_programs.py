# SPDX-License-Identifier: MIT OR Apache-2.0
"""What ./dev survey runs: programs from Debian's packages, as they are, and their input, made here from fixed seeds."""

import random
import re
import signal
import subprocess
from dataclasses import dataclass, field

from clients import answers, figure

# A word of a command may have {threads}, {data} (the directory of the input) and {out} (one of the run's own).


@dataclass
class Surveyed:
    """A program that does a fixed piece of work, and is timed; or says how fast it was, where there is a figure."""

    kind: str
    command: str
    speed: str = ""  # a regular expression; its first group is the figure
    environment: dict = field(default_factory=dict)
    status: int = 0

    def run(self, trial, threads):
        where = {"threads": threads, "data": trial.built, "out": trial.directory}
        variables = [f"{name}={value.format(**where)}" for name, value in self.environment.items()]
        trial.begin(*variables, *(word.format(**where) for word in self.command.split()))
        seconds = trial.wait_for_end()
        stdout, stderr = trial.end(status=self.status)
        return figure(re.compile(self.speed, re.MULTILINE), stdout + stderr, self.command) if self.speed \
            else 1 / seconds


@dataclass
class Memcached:
    """Under memaslap, which runs plain."""

    kind: str = "cache"
    port: int = 11311

    def run(self, trial, threads):
        trial.begin("memcached", "-l", "127.0.0.1", "-p", self.port, "-U", 0, "-t", threads, "-m", 256)
        trial.wait_until(lambda: answers(self.port))
        (trial.directory / "load").write_text("key\n32 64 1\nvalue\n64 1024 1\ncmd\n0 0.2\n1 0.8\n")
        said = trial.call("memcaslap", "-s", f"127.0.0.1:{self.port}", "-T", 1, "-c", 32, "-t", "1s",
                          "-F", trial.directory / "load")
        trial.end(signal.SIGTERM)
        return figure(re.compile(r"TPS: (\d+)"), said, "memaslap")


def openmp(text):
    return {"OMP_NUM_THREADS": "{threads}"} | text


def stressor(name, more=""):
    """One of stress-ng's: operations per second of real time."""
    return Surveyed("lock stressor", f"stress-ng --{name} 1 {more} --timeout 1s --metrics --temp-path {{out}}",
                    speed=rf"{name} +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)")


PATTERNS = ["actors", "buffer-broadcast", "pool", "two-lock-queue", "semaphore-buffer", "ping-pong", "trylock-poll",
            "allocator", "recently-used", "shared-cache", "half-write", "bank", "philosophers", "log", "sleep-inside",
            "status", "trylock-yield", "timed-lock", "recursive", "errorcheck", "adaptive", "inheriting", "robust",
            "crew", "barriers", "std-barriers", "connections", "std-semaphore", "quicksort", "short-threads", "async",
            "cancelled", "ticker", "alarmed"]


def pattern(name):
    """One of bench/apps/programs/patterns: small programs with locks as strangers write them."""
    return Surveyed("pattern", f"{{data}}/patterns {name} {{threads}} 0.25", speed=r"ops/s: (\d+)")


PYTHON = "/usr/bin/python3"

PROGRAMS = {
    "x264": Surveyed("video", "x264 --threads {threads} --preset fast --quiet -o /dev/null {data}/video.y4m"),
    "x265": Surveyed("video",
                     "x265 --pools {threads} --preset ultrafast --frames 60 --log-level error "
                     "-o /dev/null {data}/video.y4m"),
    "vpxenc": Surveyed("video", "vpxenc --threads={threads} --cpu-used=8 --rt --row-mt=1 --tile-columns=2 --quiet "
                       "-o /dev/null {data}/video.y4m"),
    "aomenc": Surveyed("video", "aomenc --threads={threads} --cpu-used=9 --rt --row-mt=1 --tile-columns=1 --limit=10 "
                       "--quiet --ivf -o /dev/null {data}/video.y4m"),
    "svt-av1": Surveyed("video", "SvtAv1EncApp -i {data}/video.y4m -b /dev/null --preset 12 --lp {threads} -n 80"),
    "dav1d": Surveyed("video", "dav1d -q --threads {threads} -i {data}/video.ivf --muxer null -o -"),
    "ffmpeg-filter": Surveyed("video", "ffmpeg -v error -filter_threads {threads} -i {data}/video.y4m -vf "
                              "gblur=sigma=8,hqdn3d,unsharp -f null -"),
    "pigz": Surveyed("compressor", "pigz -p {threads} -kc {data}/text", ),
    "pbzip2": Surveyed("compressor", "pbzip2 -p{threads} -b1 -kc {data}/text"),
    "lbzip2": Surveyed("compressor", "lbzip2 -n {threads} -kc {data}/text"),
    "zstd": Surveyed("compressor", "zstd -q -9 -B512K -T{threads} -c {data}/text"),
    "xz": Surveyed("compressor", "xz -1 --block-size=256KiB -T{threads} -kc {data}/text"),
    "plzip": Surveyed("compressor", "plzip -0 -B 256KiB -n {threads} -kc {data}/text"),
    "pixz": Surveyed("compressor", "pixz -1 -p {threads} -i {data}/text -o {out}/text.xz"),
    "7z": Surveyed("compressor", "7z a -bd -mx=1 -mmt={threads} {out}/text.7z {data}/text"),
    "mksquashfs": Surveyed("compressor",
                           "mksquashfs {data}/tree {out}/image -processors {threads} -no-progress -quiet"),
    "par2": Surveyed("OpenMP, gcc",
                     "par2 create -q -q -t{threads} -s16384 -c40 -B {data} {out}/text.par2 {data}/text"),
    "povray": Surveyed("renderer", "povray +I{data}/scene.pov +W120 +H90 +WT{threads} -D -O{out}/scene.png +A0.3 -GA"),
    "tachyon": Surveyed("renderer",
                        "tachyon {data}/scene.tachyon -numthreads {threads} -o {out}/scene.tga -format TARGA"),
    "imagemagick": Surveyed("OpenMP, gcc", "convert {data}/picture.ppm -blur 0x3 {out}/picture.ppm",
                            environment=openmp({"MAGICK_THREAD_LIMIT": "{threads}"})),
    "graphicsmagick": Surveyed("OpenMP, gcc", "gm convert {data}/picture.ppm -blur 0x3 {out}/picture.ppm",
                               environment=openmp({})),
    "vips": Surveyed("renderer", "vips gaussblur {data}/picture.ppm {out}/picture.v 8",
                     environment={"VIPS_CONCURRENCY": "{threads}"}),
    "cjxl": Surveyed("renderer", "cjxl --quiet -e 3 --num_threads={threads} {data}/picture.ppm {out}/picture.jxl"),
    "avifenc": Surveyed("renderer", "avifenc -s 10 -j {threads} {data}/picture.jpeg {out}/picture.avif"),
    "openblas": Surveyed("BLAS", f"{PYTHON} {{data}}/blas.py",
                         environment={"OPENBLAS_NUM_THREADS": "{threads}"}),
    "openmp-llvm": Surveyed("OpenMP, LLVM", "{data}/openmp-llvm-{threads} 24000", environment=openmp({}), status=7),
    "openmp-gnu": Surveyed("OpenMP, gcc", "{data}/openmp-gnu-{threads} 200000", environment=openmp({}), status=7),
    "mold": Surveyed("linker, TBB",
                     "mold --thread-count={threads} -r -o {out}/linked --whole-archive {data}/objects.a"),
    "lld": Surveyed("linker", "ld.lld-16 --threads={threads} -r -o {out}/linked --whole-archive {data}/objects.a"),
    "git-grep": Surveyed("git",
                         "git -c safe.directory=* -C {data}/repository grep --threads={threads} -c e.*q.*z"),
    "git-repack": Surveyed("git", "git -c safe.directory=* -C {data}/repository pack-objects --all --no-reuse-delta "
                           "--no-reuse-object -q --window=20 --threads={threads} {out}/pack"),
    "ugrep": Surveyed("search", "ugrep -J{threads} -rc e.*q.*z {data}/tree"),
    "ag": Surveyed("search", "ag --workers {threads} -c e[a-z]*q {data}/tree"),
    "samtools-sort": Surveyed("genome",
                              "samtools sort -@ {threads} -m 2M -o {out}/sorted.bam {data}/reads.sam"),
    "minimap2": Surveyed("genome",
                         "minimap2 -t {threads} -K 200k -a -o {out}/reads.sam {data}/genome.fa {data}/reads.fa"),
    "phmmer": Surveyed("genome", "phmmer --cpu {threads} -o {out}/found {data}/protein.fa {data}/proteins.fa"),
    "stockfish": Surveyed("search", "/usr/games/stockfish bench 16 {threads} 60 default movetime",
                          speed=r"^Nodes/second +: (\d+)"),
    "memcached": Memcached(),
    "kccachetest": Surveyed("database", "kccachetest order -th {threads} -rnd 60000"),
    "kchashtest": Surveyed("database", "kchashtest wicked -th {threads} -it 1 {out}/store.kch 20000"),
    "kctreetest": Surveyed("database", "kctreetest order -th {threads} -rnd {out}/store.kct 10000"),
    "tchmttest": Surveyed("database", "tchmttest write {out}/store.tch {threads} 20000"),
    "tcbmttest": Surveyed("database", "tcbmttest write {out}/store.tcb {threads} 20000"),
    "sysbench-mutex": Surveyed("load generator", "sysbench mutex --threads={threads} --mutex-num=64 "
                               "--mutex-locks=1500000 --mutex-loops=200 run", speed=r"^ +avg: +([\d.]+)"),
    "sysbench-threads": Surveyed("load generator", "sysbench threads --threads={threads} --thread-yields=50 "
                                 "--thread-locks=4 --time=1 run", speed=r"total number of events: +(\d+)"),
    "sysbench-cpu": Surveyed("CPU only", "sysbench cpu --threads={threads} --time=1 run",
                             speed=r"events per second: +([\d.]+)"),
    "hackbench": Surveyed("load generator", "hackbench -T -g {threads} -f 4 -l 200"),
    "fio": Surveyed("load generator", "fio --name=a --thread --numjobs={threads} --ioengine=null --size=100g "
                    "--time_based --runtime=1 --group_reporting --rw=randread", speed=r"IOPS=([\d.]+)"),
    "python-queue": Surveyed("interpreter", f"{PYTHON} {{data}}/queues.py {{threads}}"),
    "ruby-queue": Surveyed("interpreter", "ruby {data}/queues.rb {threads}"),
    "perl-queue": Surveyed("interpreter", "perl {data}/queues.pl {threads}"),
    "stress-mutex": stressor("mutex", "--mutex-procs {threads}"),
    "stress-sem": stressor("sem", "--sem-procs {threads}"),
    "stress-futex": stressor("futex"),
    "stress-pthread": stressor("pthread", "--pthread-max {threads}"),
    "stress-switch": stressor("switch"),
} | {name: pattern(name) for name in PATTERNS}

QUICK = ["x264", "x265", "svt-av1", "dav1d", "ffmpeg-filter", "pigz", "pbzip2", "zstd", "xz", "7z", "mksquashfs",
         "povray", "tachyon", "imagemagick", "vips", "openblas", "openmp-llvm", "openmp-gnu", "mold", "lld",
         "git-grep", "git-repack",
         "ugrep", "samtools-sort", "minimap2", "phmmer", "memcached", "kccachetest", "tchmttest", "sysbench-mutex",
         "sysbench-cpu", "hackbench", "python-queue", "perl-queue", "stress-mutex", "stress-sem"]

SCRIPTS = {
    "blas.py": """import numpy
a = numpy.random.default_rng(1).random((700, 700))
for _ in range(36): a = a @ a; a /= a.max()
""",
    "queues.py": """import queue, sys, threading
threads, items = int(sys.argv[1]), 20000
q, done = queue.Queue(64), queue.Queue()
def work():
    while (item := q.get()) is not None: done.put(item * item)
team = [threading.Thread(target=work) for _ in range(threads)]
for one in team: one.start()
for item in range(items): q.put(item)
for _ in team: q.put(None)
for one in team: one.join()
assert done.qsize() == items
""",
    "queues.rb": """threads, items = ARGV[0].to_i, 40000
q, done = SizedQueue.new(64), Queue.new
team = threads.times.map { Thread.new { while (item = q.pop) do done << item * item end } }
items.times { |item| q << item + 1 }
threads.times { q << nil }
team.each(&:join)
raise unless done.size == items
""",
    "queues.pl": """use threads; use threads::shared; use Thread::Queue;
my ($threads, $items) = ($ARGV[0], 6000);
my ($q, $done) = (Thread::Queue->new, Thread::Queue->new);
sub work { while (defined(my $item = $q->dequeue)) { $done->enqueue($item * $item) } }
my @team = map { threads->create(\\&work) } 1..$threads;
$q->enqueue($_) for 1..$items;
$q->end;
$_->join for @team;
die unless $done->pending == $items;
""",
    "scene.pov": """#version 3.7; global_settings { assumed_gamma 1 }
camera { location <0, 3, -9> look_at <0, 1, 0> } light_source { <9, 9, -9> rgb 1 area_light x*2, y*2, 4, 4 }
plane { y, 0 pigment { checker rgb 1, rgb 0.3 } finish { reflection 0.2 } }
#for (i, -4, 4) #for (k, -2, 4)
sphere { <i*0.9, 0.5 + 0.3*sin(i*k), k>, 0.4
    pigment { rgb <0.5+i/9, 0.5, 0.5+k/9> } finish { reflection 0.4 phong 0.5 } }
#end #end
""",
}


def scene_for_tachyon():
    spheres = "".join(
        f"sphere center {x * 0.8 - 4} {0.5 + (x * z) % 3 * 0.5} {z * 0.9} rad 0.45 texture ambient 0.1 diffuse 0.6 "
        f"specular 0.4 opacity 1.0 color {x / 10:.2f} 0.5 {z / 10:.2f} texfunc 0\n"
        for x in range(10) for z in range(10))
    return ("begin_scene\nresolution 1600 1200\n"
            "camera zoom 1.0 aspectratio 1.0 antialiasing 2 raydepth 6 center 0.0 2.0 -9.0 viewdir 0.0 -0.1 1.0 "
            "updir 0.0 1.0 0.0 end_camera\n"
            f"light center 9.0 9.0 -9.0 rad 0.2 color 1.0 1.0 1.0\n{spheres}end_scene\n")


def call(*command, **options):
    subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE, **options)


def words(chance, count):
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    known = ["".join(chance.choices(letters, range(26, 0, -1), k=chance.randint(2, 9))) for _ in range(4000)]
    return " ".join(chance.choices(known, [1 / (rank + 1) for rank in range(4000)], k=count))


def strand(chance, letters, length):
    return "".join(chance.choices(letters, k=length))


def fasta(records):
    return "".join(f">{name}\n{letters}\n" for name, letters in records)


def make_genome(directory, chance):
    genome = strand(chance, "ACGT", 300_000)
    (directory / "genome.fa").write_text(fasta([("genome", genome)]))
    starts = [chance.randrange(len(genome) - 1000) for _ in range(4000)]
    (directory / "reads.fa").write_text(
        fasta((f"read{number}", genome[at:at + 1000]) for number, at in enumerate(starts)))
    call("minimap2", "-a", "-o", directory / "reads.sam", directory / "genome.fa", directory / "reads.fa")
    acids = "ACDEFGHIKLMNPQRSTVWY"
    proteins = [(f"protein{number}", strand(chance, acids, 300)) for number in range(50000)]
    (directory / "proteins.fa").write_text(fasta(proteins))
    (directory / "protein.fa").write_text(fasta(proteins[:1]))


def make_tree(directory, chance, text):
    for number in range(300):
        at = chance.randrange(len(text) - 40_000)
        folder = directory / f"tree/folder{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}").write_text(text[at:at + 40_000].replace(" the", "\n"))
    call("cp", "-r", directory / "tree", directory / "repository")
    git = ["git", "-C", directory / "repository", "-c", "user.name=survey", "-c", "user.email=survey@localhost"]
    call(*git, "init", "-q")
    call(*git, "add", ".")
    call(*git, "commit", "-qm", "all")


def make_objects(directory):
    """An archive of some hundred objects."""
    for number in range(40):
        functions = "".join(f"int f{number}_{of}(int *x) {{ static char text[] = \"text {number} {of}\"; return "
                            f"x[{of}] + text[x[0] & 7]; }}\n" for of in range(300))
        (directory / f"object{number}.c").write_text(functions)
    sources = sorted(directory.glob("object*.c"))
    call("gcc", "-c", "-O0", "-g", "-fPIC", "-ffunction-sections", *sources, cwd=directory)
    call("ar", "rc", directory / "objects.a", *sorted(directory.glob("object*.o")))


def prepare(directory, sources, names, threads_wanted):
    """All input of these programs, in this directory."""
    if not set(PATTERNS).isdisjoint(names):
        call("g++", "-std=c++20", "-O2", "-pthread", "-o", directory / "patterns",
             *sorted((sources / "patterns").glob("*.cpp")))
    if not set(PATTERNS).issuperset(names):
        prepare_others(directory, sources, threads_wanted)
    call("chmod", "-R", "a+rX", directory)


def prepare_others(directory, sources, threads_wanted):
    chance = random.Random(1)
    for name, text in SCRIPTS.items():
        (directory / name).write_text(text)
    (directory / "scene.tachyon").write_text(scene_for_tachyon())
    text = words(chance, 2_000_000) * 3
    (directory / "text").write_text(text)
    make_tree(directory, chance, text)
    make_genome(directory, chance)
    make_objects(directory)
    source = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i"]
    call(*source, "testsrc2=size=640x360:rate=30:duration=3,noise=alls=20:allf=t,format=yuv420p",
         directory / "video.y4m")
    call("SvtAv1EncApp", "-i", directory / "video.y4m", "-b", directory / "video.ivf", "--preset", 12, "-n", 80)
    call(*source, "testsrc2=size=3000x2000,noise=alls=20", "-frames:v", 1, directory / "picture.ppm")
    call(*source, "testsrc2=size=3000x2000,noise=alls=20", "-frames:v", 1, directory / "picture.jpeg")
    for threads in threads_wanted:
        for compiler, name in (("gcc", "gnu"), ("clang-16", "llvm")):
            call(compiler, "-O2", "-fopenmp", f"-DTHREADS={threads}", "-o", directory / f"openmp-{name}-{threads}",
                 sources / "openmp.c")
    call("chmod", "-R", "a+rwX", directory / "repository")  # pack-objects makes a temporary file in it
